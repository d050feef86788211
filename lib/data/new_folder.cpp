// Temporary folders, their locks and what is left of them when a program is killed.
//
// The lock is flock() on the folder itself: the kernel takes it back however its owner ends, and it
// needs no file. Where a file system has none (NFS lets no folder be locked) nothing is known of a
// leftover's maker, so it is named and left alone.
#include "data/new_folder.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace crema {
namespace fs = boost::filesystem;
namespace {

constexpr const char* kMark = "INCOMPLETE";
constexpr std::string_view kMarkText =
    "This folder was not finished: the program that filled it works still, or was killed.\n";
constexpr std::string_view kEnding = ".tmp-XXXXXX";

int open_folder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum class Lock { kOurs, kOthers, kNone };

Lock lock(int folder) {
  if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return Lock::kOurs;
  return errno == EWOULDBLOCK ? Lock::kOthers : Lock::kNone;
}

/// The lock of a folder that is there already; it is given back at once.
Lock try_lock(const std::string& path) {
  const int folder = open_folder(path);
  if (folder < 0) return Lock::kNone;
  const Lock found = lock(folder);
  ::close(folder);
  return found;
}

fs::path parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

/// Whether a folder of this name is a temporary one of `target`.
bool is_temporary(std::string_view name, std::string_view target) {
  if (name.size() != target.size() + kEnding.size() || !name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  const std::string_view fixed = kEnding.substr(0, kEnding.find('X'));
  if (!name.starts_with(fixed)) return false;
  for (const char c : name.substr(fixed.size())) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) return false;
  }
  return true;
}

/// Under its own name at once, so that a kill leaves an empty folder or a marked one.
void make_mark(const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << kMarkText;
  file.close();
  require_system(file.good(), "cannot write {}", path);
}

/// Whether a folder holds the mark, or nothing at all yet.
bool is_unfinished(const fs::path& folder) {
  boost::system::error_code error;
  return fs::exists(folder / kMark, error) || (fs::is_empty(folder, error) && !error);
}

}  // namespace

// By the private constructor the object counts as made, so that the destructor clears away when
// this one fails.
NewFolder::NewFolder(const std::string& path, const std::string& what) : NewFolder() {
  path_ = path;
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  require(!path_.empty(), "the path of the new {} is empty", what);
  boost::system::error_code error;
  // A dangling link counts: the rename at the end would replace it.
  require(fs::symlink_status(path_, error).type() == fs::file_not_found,
          "{} exists already; remove it first, or choose another name", path_);
  remove_leftovers(what);
  std::string made = path_ + std::string(kEnding);
  require_system(::mkdtemp(made.data()) != nullptr, "cannot create {}", path_);
  temporary_ = made;
  ::chmod(temporary_.c_str(), 0755);  // mkdtemp lets nobody else in
  folder_ = open_folder(temporary_);
  // Another program that clears up may have come between.
  require(folder_ >= 0 && lock(folder_) != Lock::kOthers, "another program is making {} already",
          path_);
  make_mark(temporary_ + "/" + kMark);
}

NewFolder::~NewFolder() {
  if (!temporary_.empty()) {
    boost::system::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  if (folder_ >= 0) ::close(folder_);
}

void NewFolder::remove_leftovers(const std::string& what) const {
  const std::string target = fs::path(path_).filename().string();
  boost::system::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(parent_of(path_), error), end; !error && it != end;
       it.increment(error)) {
    if (is_temporary(it->path().filename().string(), target)) found.push_back(it->path());
  }
  for (const fs::path& leftover : found) {
    const Lock owner = try_lock(leftover.string());
    require(owner != Lock::kOthers, "another program is making {} already, in {}", path_,
            leftover.string());
    if (owner == Lock::kOurs && is_unfinished(leftover)) {
      fs::remove_all(leftover, error);
      require(!error, "cannot remove {}, which a run that was killed left of {}: {}",
              leftover.string(), path_, error.message());
      LOG(WARNING) << "removed " << leftover.string() << ", the incomplete " << what
                   << " that a run that was killed left";
    } else {
      LOG(WARNING) << leftover.string() << " was left by another run; remove it if none is at work";
    }
  }
}

void NewFolder::write(const std::string& name, std::string_view contents) const {
  with_context(path_, [&] { write_file_atomically(temporary_ + "/" + name, contents); });
}

void NewFolder::keep() {
  sync_folder(temporary_);
  // Between these two a kill leaves what is whole, but no mark to say whose it is.
  require_system(::unlink((temporary_ + "/" + kMark).c_str()) == 0, "cannot finish {}", path_);
  int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {  // not every file system has it
    result = std::rename(temporary_.c_str(), path_.c_str());
  }
  require_system(result == 0, "cannot rename {} to {}", temporary_, path_);
  temporary_.clear();
  sync_folder(parent_of(path_).string());
}

void require_complete(const std::string& path) {
  boost::system::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? fs::path(path) : parent_of(path);
  if (!fs::exists(folder / kMark, error)) return;
  require(try_lock(folder.string()) != Lock::kOthers, "{} is not complete: a program is writing it",
          path);
  fail("{} is not complete: the program that wrote it was killed; remove it and make it again",
       path);
}

}  // namespace crema
