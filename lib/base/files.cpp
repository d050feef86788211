#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace crema {
namespace fs = boost::filesystem;
namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, int mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void sync_to_disk(const std::string& path, int flags) {
  const Descriptor file(path, flags);
  require(file.get() >= 0 && ::fsync(file.get()) == 0, "cannot write {} to disk: {}", path,
          std::strerror(errno));
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string read_file(const std::string& path) {
  require(!fs::is_directory(path), "{} is a directory, not a file", path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  require(in.good(), "cannot open {}: {}", path, std::strerror(errno ? errno : ENOENT));
  std::string contents((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  require(!in.bad(), "cannot read {}: {}", path, std::strerror(errno));
  return contents;
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string&)>& write) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    write(temporary);
    sync_to_disk(temporary, O_RDONLY);
    require(std::rename(temporary.c_str(), path.c_str()) == 0, "cannot rename {} to {}: {}",
            temporary, path, std::strerror(errno));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // The rename itself must survive a crash too.
  sync_to_disk(folder_of(path), O_RDONLY | O_DIRECTORY);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path, [&](const std::string& temporary) {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    out.close();
    require(out.good(), "cannot write {}: {}", path, std::strerror(errno ? errno : EIO));
  });
}

void require_writable_folder(const std::string& path, const std::string& purpose) {
  const std::string folder = folder_of(path);
  require(fs::exists(folder), "the folder {} for {} does not exist; make it first", folder,
          purpose);
  require(fs::is_directory(folder), "{} for {} is not a folder", folder, purpose);
  const std::string probe = fmt::format("{}/.crema_probe_{}", folder, ::getpid());
  const Descriptor file(probe, O_CREAT | O_EXCL | O_WRONLY, 0600);
  const int error = errno;
  require(file.get() >= 0, "the folder {} for {} cannot be written: {}", folder, purpose,
          std::strerror(error));
  ::unlink(probe.c_str());
}

}  // namespace crema
