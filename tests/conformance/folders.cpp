#include "folders.h"

#include <boost/filesystem.hpp>

#include "base/error.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
namespace {

/// Writable whatever the original is.
void copy_folder(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path target = to / entry.path().filename();
    if (fs::is_directory(entry.path())) {
      copy_folder(entry.path(), target);
    } else {
      fs::copy_file(entry.path(), target);
      fs::permissions(target, fs::add_perms | fs::owner_write);
    }
  }
}

}  // namespace

WorkingDirectory::WorkingDirectory(const std::string& folder)
    : former_(fs::current_path().string()) {
  fs::current_path(folder);
}

WorkingDirectory::~WorkingDirectory() {
  boost::system::error_code ignored;
  fs::current_path(former_, ignored);
}

TemporaryCopy::TemporaryCopy(const std::string& folder)
    : path_((fs::temp_directory_path() / fs::unique_path("conformance-%%%%-%%%%-%%%%")).string()) {
  copy_folder(folder, path_);
}

TemporaryCopy::~TemporaryCopy() {
  boost::system::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string program_folder() { return fs::read_symlink("/proc/self/exe").parent_path().string(); }

}  // namespace crema::conformance
