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

void sync_to_disk(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  const bool synced = file.get() >= 0 && ::fsync(file.get()) == 0;
  require_system(synced, "cannot write {} to disk", path);
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
  require_system(in.good(), "cannot open {}", path);
  std::string contents((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  require_system(!in.bad(), "cannot read {}", path);
  return contents;
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string&)>& write) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    write(temporary);
    sync_to_disk(temporary);
    const bool renamed = std::rename(temporary.c_str(), path.c_str()) == 0;
    require_system(renamed, "cannot rename {} to {}", temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder_of(path));
}

void sync_folder(const std::string& folder) {
  const Descriptor file(folder, O_RDONLY | O_DIRECTORY);
  if (file.get() >= 0) ::fsync(file.get());
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path, [&](const std::string& temporary) {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    out.close();
    require_system(out.good(), "cannot write {}", path);
  });
}

int temporary_writer(const std::string& path) {
  const std::string ending = ".tmp";
  if (!path.ends_with(ending)) return 0;
  const std::string stem = path.substr(0, path.size() - ending.size());
  const std::string number = stem.substr(stem.rfind('.') + 1);
  const bool digits = !number.empty() && number.size() < 10 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  return digits && number.size() < stem.size() ? std::stoi(number) : 0;
}

void require_writable_folder(const std::string& path, const std::string& purpose) {
  const std::string folder = folder_of(path);
  require(fs::exists(folder), "the folder {} for {} does not exist; make it first", folder,
          purpose);
  require(fs::is_directory(folder), "{} for {} is not a folder", folder, purpose);
  std::string probe = folder + "/.crema_probe_XXXXXX";
  const int file = ::mkstemp(probe.data());
  require_system(file >= 0, "the folder {} for {} cannot be written", folder, purpose);
  ::close(file);
  ::unlink(probe.c_str());
}

}  // namespace crema
