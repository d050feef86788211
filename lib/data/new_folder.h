// A folder that is either wholly there or not at all.
#pragma once

#include <string>

namespace crema {

/// A temporary folder beside `path`, which keep() renames to it.
class NewFolder {
 public:
  /// Fails when something already exists at `path`, or its folder cannot be written to. `what` is
  /// what will be in it ("LMDB"), for messages.
  NewFolder(const std::string& path, const std::string& what);
  /// Removes the temporary folder unless keep() succeeded.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Without slashes at its end.
  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  /// Syncs the folder and renames it.
  void keep();

 private:
  std::string path_, temporary_;
};

}  // namespace crema
