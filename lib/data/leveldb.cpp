// LevelDB by its own library, or refusals where the build has none.
#include "data/leveldb.h"

#include "base/error.h"
#include "data/new_folder.h"
#include "data/record_name.h"

#ifdef CREMA_LEVELDB
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <boost/filesystem.hpp>
#include <mutex>
#include <optional>
#include <vector>

namespace crema {
namespace {

namespace fs = boost::filesystem;

constexpr std::size_t kRecordsPerCommit = 1000;
constexpr std::size_t kBytesPerCommit = std::size_t{16} << 20;
constexpr std::size_t kWriteBuffer = std::size_t{64} << 20;

/// What the library says, on one line and without its own classification.
std::string text_of(const leveldb::Status& status) {
  std::string text = status.ToString();
  if (text.find("lock") != std::string::npos && text.find("LOCK") != std::string::npos) {
    text += " (a LevelDB can be open only once at a time; an LMDB has no such limit)";
  }
  return text;
}

leveldb::ReadOptions read_options() {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;  // each record is read once an epoch
  return options;
}

class LevelDbReader final : public DatabaseReader {
 public:
  explicit LevelDbReader(const std::string& path) : path_(path) {
    boost::system::error_code error;
    require(fs::exists(path, error), "LevelDB {} does not exist{}", path,
            fs::path(path).is_absolute()
                ? ""
                : fmt::format(" (in {})", fs::current_path(error).string()));
    require_complete(path);
    const std::string kind = database_kind(path);
    require(kind != "LMDB", "{} is an LMDB, not a LevelDB", path);
    require(!kind.empty(), "{} is not a LevelDB: it has no file CURRENT", path);
    leveldb::Options options;
    options.max_open_files = 100;
    leveldb::DB* opened = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, path, &opened);
    require(status.ok(), "cannot open LevelDB {}: {}", path, text_of(status));
    db_.reset(opened);
    cursor_.reset(db_->NewIterator(read_options()));
    cursor_->SeekToFirst();
    check(*cursor_);
    require(cursor_->Valid(), "LevelDB {} holds no records", path);
  }

  const std::string& path() const override { return path_; }

  std::int64_t records() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!records_) {
      const std::unique_ptr<leveldb::Iterator> cursor(db_->NewIterator(read_options()));
      std::int64_t count = 0;
      for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) ++count;
      check(*cursor);
      records_ = count;
    }
    return *records_;
  }

  bool next() override {
    if (!started_) {
      cursor_->SeekToFirst();
    } else {
      cursor_->Next();
    }
    check(*cursor_);
    started_ = cursor_->Valid();
    return started_;
  }

  void rewind() override { started_ = false; }

  void skip(std::int64_t count) override {
    for (; count > 0; --count) next();
  }

  void go_to(std::int64_t index) override {
    if (keys_.empty()) {
      const std::unique_ptr<leveldb::Iterator> cursor(db_->NewIterator(read_options()));
      for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) {
        keys_.push_back(cursor->key().ToString());
      }
      check(*cursor);
    }
    CREMA_ASSERT(index >= 0 && static_cast<std::size_t>(index) < keys_.size());
    cursor_->Seek(keys_[static_cast<std::size_t>(index)]);
    check(*cursor_);
    CREMA_ASSERT(cursor_->Valid());
    started_ = true;
  }

  std::string_view key() const override { return view(cursor_->key()); }

  void locate(StoredValue* value) override {
    value->size = 0;
    value->bytes.assign(view(cursor_->value()));
  }
  std::string_view load(std::string_view /*key*/, const StoredValue& value,
                        std::string* /*buffer*/) const override {
    return value.bytes;
  }

 private:
  static std::string_view view(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

  void check(const leveldb::Iterator& cursor) const {
    const leveldb::Status status = cursor.status();
    require(status.ok(), "LevelDB {} is damaged: {}", path_, text_of(status));
  }

  std::string path_;
  std::unique_ptr<leveldb::DB> db_;
  std::unique_ptr<leveldb::Iterator> cursor_;
  std::vector<std::string> keys_;  ///< once go_to() was called
  bool started_ = false;
  mutable std::mutex mutex_;
  mutable std::optional<std::int64_t> records_;
};

class LevelDbWriter final : public DatabaseWriter {
 public:
  explicit LevelDbWriter(const std::string& path) : folder_(path, "LevelDB") {
    leveldb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.write_buffer_size = kWriteBuffer;
    leveldb::DB* made = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, folder_.temporary(), &made);
    require(status.ok(), "cannot create LevelDB {}: {}", folder_.path(), text_of(status));
    db_.reset(made);
  }

  const std::string& path() const override { return folder_.path(); }

  void put(std::string_view key, std::string_view value) override {
    CREMA_ASSERT(db_);
    require(!key.empty() && key.size() <= kLongestKey,
            "cannot write {} to {}: a key has 1 to {} bytes", record_name(key), folder_.path(),
            kLongestKey);
    batch_.Put({key.data(), key.size()}, {value.data(), value.size()});
    if (++pending_ >= kRecordsPerCommit || batch_.ApproximateSize() >= kBytesPerCommit) {
      commit(false);
    }
  }

  void attach(const std::string& name, std::string_view contents) override {
    folder_.write(name, contents);
  }

  void finish() override {
    CREMA_ASSERT(db_);
    commit(true);
    db_.reset();
    folder_.keep();
  }

 private:
  void commit(bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    const leveldb::Status status = db_->Write(options, &batch_);
    require(status.ok(), "cannot write to {}: {}", folder_.path(), text_of(status));
    batch_.Clear();
    pending_ = 0;
  }

  NewFolder folder_;
  std::unique_ptr<leveldb::DB> db_;  // gone before the folder is
  leveldb::WriteBatch batch_;
  std::size_t pending_ = 0;
};

}  // namespace

std::unique_ptr<DatabaseReader> open_leveldb(const std::string& path) {
  return std::make_unique<LevelDbReader>(path);
}

std::unique_ptr<DatabaseWriter> create_leveldb(const std::string& path) {
  return std::make_unique<LevelDbWriter>(path);
}

}  // namespace crema

#else

namespace crema {

std::unique_ptr<DatabaseReader> open_leveldb(const std::string& path) {
  require(database_kind(path) != "LMDB", "{} is an LMDB, not a LevelDB", path);
  fail("cannot open {}: this build has no LevelDB (install libleveldb-dev and configure again)",
       path);
}

std::unique_ptr<DatabaseWriter> create_leveldb(const std::string& path) {
  fail("cannot create {}: this build has no LevelDB (install libleveldb-dev and configure again)",
       path);
}

}  // namespace crema

#endif
