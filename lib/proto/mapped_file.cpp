#include "proto/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace crema {

MappedFile::MappedFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require_system(file >= 0, "cannot open {}", path);
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail("{} is not a file", path);
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    if (memory_ == MAP_FAILED) memory_ = nullptr;
    ::close(file);
    require(memory_ != nullptr, "cannot read {}: {}", path, std::strerror(error));
  } else {
    ::close(file);
  }
}

MappedFile::~MappedFile() {
  if (memory_) ::munmap(memory_, size_);
}

}  // namespace crema
