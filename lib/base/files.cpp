#include "base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

/// Where the contents of an output file go.
struct Destination {
  explicit Destination(const std::string& given) : path(given) {
    struct stat is = {};
    exists = ::stat(path.c_str(), &is) == 0;
    require(!exists || !S_ISDIR(is.st_mode), "{} is a folder, not a file", path);
    // Links are followed to their end, which need not exist.
    boost::system::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path, error)); ++links) {
      const fs::path to = fs::read_symlink(path, error);
      path = (to.is_absolute() ? to : fs::path(path).parent_path() / to).string();
    }
    // A file of /proc/self/fd that was deleted has no place any more.
    struct stat end = {};
    const bool has_place = ::stat(path.c_str(), &end) == 0 && end.st_ino == is.st_ino;
    direct = exists && (!S_ISREG(is.st_mode) || !has_place);
    if (direct) path = given;
    status = is;
  }

  std::string path;
  bool exists = false;
  bool direct = false;    ///< no file that could be replaced
  struct stat status {};  ///< of what is there
};

bool is_pipe(const std::string& path) {
  struct stat is = {};
  return ::stat(path.c_str(), &is) == 0 && S_ISFIFO(is.st_mode);
}

/// To its end. Where no process has it open for writing, opening it would wait for ever.
std::string read_pipe(const std::string& path) {
  errno = 0;
  const Descriptor pipe(path, O_RDONLY | O_NONBLOCK);
  require_system(pipe.get() >= 0, "cannot open {}", path);
  std::string contents;
  for (char bytes[1 << 16];;) {
    const ssize_t got = ::read(pipe.get(), bytes, sizeof bytes);
    require(got != 0 || !contents.empty(), "{} is a pipe that nobody writes to", path);
    if (got == 0) return contents;
    if (got > 0) {
      contents.append(bytes, static_cast<std::size_t>(got));
      continue;
    }
    require_system(errno == EAGAIN || errno == EINTR, "cannot read {}", path);
    pollfd more = {pipe.get(), POLLIN, 0};
    ::poll(&more, 1, -1);
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  boost::system::error_code ignored;  // opening says what is wrong
  require(!fs::is_directory(path, ignored), "{} is a directory, not a file", path);
  if (is_pipe(path)) return read_pipe(path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  require_system(in.good(), "cannot open {}", path);
  std::string contents((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  require_system(!in.bad(), "cannot read {}", path);
  return contents;
}

std::string read_text_file(const std::string& path) {
  std::string text = read_file(path);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const std::size_t nul = text.find('\0');
  if (nul != std::string::npos) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(nul);
    fail("{}:{}: a NUL byte; the file should be plain text (UTF-8)", path,
         1 + std::count(text.begin(), end, '\n'));
  }
  return text;
}

Replacement::Replacement(const std::string& path) {
  const Destination to(path);
  path_ = to.path;
  direct_ = to.direct;
  temporary_ = direct_ ? path_ : fmt::format("{}.{}.tmp", path_, ::getpid());
  if (direct_) return;
  if (to.exists) mode_ = to.status.st_mode & 07777;
  // Nobody may look into the new file who may not look into the old one.
  ::unlink(temporary_.c_str());
  const Descriptor file(temporary_, O_WRONLY | O_CREAT | O_EXCL, mode_ ? 0600 : 0666);
  require_system(file.get() >= 0, "cannot write {}", path);
  if (!mode_) return;
  const bool own = to.status.st_uid == ::geteuid() && to.status.st_gid == ::getegid();
  if (!own && ::fchown(file.get(), to.status.st_uid, to.status.st_gid) != 0) {
    *mode_ &= 0777;  // it stays ours
  }
}

Replacement::~Replacement() {
  if (!direct_ && !kept_) ::unlink(temporary_.c_str());
}

void Replacement::keep() {
  if (direct_) return;
  sync_to_disk(temporary_);
  if (mode_) {
    require_system(::chmod(temporary_.c_str(), *mode_) == 0, "cannot set the mode of {}", path_);
  }
  kept_ = std::rename(temporary_.c_str(), path_.c_str()) == 0;
  require_system(kept_, "cannot rename {} to {}", temporary_, path_);
  sync_folder(folder_of(path_));
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string&)>& write) {
  Replacement replacement(path);
  write(replacement.temporary());
  replacement.keep();
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

void require_writable_file(const std::string& path) {
  const Destination to(path);
  if (!to.direct) require_writable_folder(to.path, path);
}

void require_writable_folder(const std::string& path, const std::string& purpose) {
  const std::string folder = folder_of(path);
  boost::system::error_code error;
  const auto type = fs::status(folder, error).type();
  require(type != fs::file_not_found, "the folder {} for {} does not exist; make it first", folder,
          purpose);
  require(type != fs::status_error, "the folder {} for {} cannot be used: {}", folder, purpose,
          error.message());
  require(type == fs::directory_file, "{} for {} is not a folder", folder, purpose);
  std::string probe = folder + "/.crema_probe_XXXXXX";
  const int file = ::mkstemp(probe.data());
  require_system(file >= 0, "the folder {} for {} cannot be written", folder, purpose);
  ::close(file);
  ::unlink(probe.c_str());
}

}  // namespace crema
