// Writing an LMDB with liblmdb, in commits of limited size. The memory map starts small and grows
// when it is full, since how much will come is not known.
#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "data/lmdb.h"
#include "data/record_name.h"

namespace crema {
namespace {

constexpr std::size_t kRecordsPerCommit = 1000;
constexpr std::size_t kBytesPerCommit = std::size_t{16} << 20;
constexpr std::size_t kFirstMapSize = std::size_t{16} << 20;

/// liblmdb calls a write that the system did in part an "Input/output error". The rest of such a
/// write fails, with the true reason: here a write behind the file's end, which is lost anyway.
int reason_of(int rc, const std::string& folder) {
  if (rc != EIO) return rc;
  const int file = ::open((folder + "/data.mdb").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return rc;
  const std::string bytes(std::size_t{1} << 16, '\0');
  for (int i = 0; i < 4 && rc == EIO; ++i) {
    if (::write(file, bytes.data(), bytes.size()) < 0) rc = errno;
  }
  ::close(file);
  return rc;
}

}  // namespace

struct LmdbWriter::Environment {
  MDB_env* handle = nullptr;
  std::size_t map_size = kFirstMapSize;

  ~Environment() {
    if (handle) mdb_env_close(handle);
  }
};

LmdbWriter::LmdbWriter(const std::string& path)
    : folder_(path, "LMDB"), environment_(std::make_unique<Environment>()) {
  // Nobody else knows the folder, so no lock file; synced once, in finish().
  int rc = mdb_env_create(&environment_->handle);
  if (rc == 0) rc = mdb_env_set_mapsize(environment_->handle, environment_->map_size);
  if (rc == 0) {
    rc = mdb_env_open(environment_->handle, folder_.temporary().c_str(), MDB_NOLOCK | MDB_NOSYNC,
                      0644);
  }
  require(rc == 0, "cannot create LMDB {}: {}", folder_.path(), mdb_strerror(rc));
}

LmdbWriter::~LmdbWriter() = default;

void LmdbWriter::put(std::string_view key, std::string_view value) {
  CREMA_ASSERT(environment_);
  require(!key.empty() && key.size() <= kLongestKey,
          "cannot write {} to {}: a key has 1 to {} bytes", record_name(key), folder_.path(),
          kLongestKey);
  pending_.emplace_back(key, value);
  pending_bytes_ += key.size() + value.size();
  if (pending_.size() >= kRecordsPerCommit || pending_bytes_ >= kBytesPerCommit) commit();
}

/// Writes what is pending in one transaction. A full map ends a transaction for good, so the
/// records are kept until it is through, and it starts again with a map of twice the size.
void LmdbWriter::commit() {
  MDB_env* const handle = environment_->handle;
  for (;;) {
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    int rc = mdb_txn_begin(handle, nullptr, 0, &transaction);
    require(rc == 0, "cannot write to {}: {}", folder_.path(), mdb_strerror(rc));
    rc = mdb_dbi_open(transaction, nullptr, 0, &database);
    const std::string* present = nullptr;
    for (auto it = pending_.begin(); rc == 0 && it != pending_.end(); ++it) {
      present = &it->first;
      MDB_val key{it->first.size(), it->first.data()};
      MDB_val value{it->second.size(), it->second.data()};
      rc = mdb_put(transaction, database, &key, &value, MDB_NOOVERWRITE);
    }
    if (rc == 0) {
      rc = mdb_txn_commit(transaction);  // frees it in any case
    } else {
      mdb_txn_abort(transaction);
    }
    if (rc == 0) break;
    require(rc != MDB_KEYEXIST, "cannot write {} to {}: there is one of this key already",
            present ? record_name(*present) : "", folder_.path());
    require(rc == MDB_MAP_FULL, "cannot write to {}: {}", folder_.path(),
            mdb_strerror(reason_of(rc, folder_.temporary())));
    environment_->map_size *= 2;
    rc = mdb_env_set_mapsize(handle, environment_->map_size);
    require(rc == 0, "cannot make {} larger: {}", folder_.path(), mdb_strerror(rc));
  }
  pending_.clear();
  pending_bytes_ = 0;
}

void LmdbWriter::attach(const std::string& name, std::string_view contents) {
  folder_.write(name, contents);
}

void LmdbWriter::finish() {
  CREMA_ASSERT(environment_);
  commit();
  const int rc = mdb_env_sync(environment_->handle, 1);
  require(rc == 0, "cannot write {} to disk: {}", folder_.path(), mdb_strerror(rc));
  environment_.reset();
  folder_.keep();
}

}  // namespace crema
