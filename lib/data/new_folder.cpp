#include "data/new_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace crema {
namespace fs = boost::filesystem;

NewFolder::NewFolder(const std::string& path, const std::string& what) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  require(!path_.empty(), "the path of the new {} is empty", what);
  boost::system::error_code error;
  // A dangling link counts: the rename at the end would replace it.
  require(fs::symlink_status(path_, error).type() == fs::file_not_found,
          "{} exists already; remove it first, or choose another name", path_);
  temporary_ = path_ + ".tmp-XXXXXX";
  if (::mkdtemp(temporary_.data()) == nullptr) {
    const int reason = errno;
    fail("cannot create {}: {}", path_, std::strerror(reason));
  }
  ::chmod(temporary_.c_str(), 0755);  // mkdtemp lets nobody else in
}

NewFolder::~NewFolder() {
  if (temporary_.empty()) return;
  boost::system::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void NewFolder::keep() {
  sync_folder(temporary_);
  require_system(std::rename(temporary_.c_str(), path_.c_str()) == 0, "cannot rename {} to {}",
                 temporary_, path_);
  temporary_.clear();
  const std::string parent = fs::path(path_).parent_path().string();
  sync_folder(parent.empty() ? "." : parent);
}

}  // namespace crema
