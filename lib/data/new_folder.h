// A folder that is either wholly there or not at all.
#pragma once

#include <string>
#include <string_view>

namespace crema {

/// What is to become the folder `path`: a temporary one beside it, `path.tmp-XXXXXX`, which keep()
/// renames.
///
/// A program that is killed cannot clear away. So the temporary folder holds a file INCOMPLETE
/// until all else in it is on the disk, and is locked as long as its maker lives: the next
/// NewFolder of the same path removes what a killed one left, and is refused while another one
/// still works.
class NewFolder {
 public:
  /// Fails when something already exists at `path`, when its folder cannot be written to, and when
  /// another program is making it. `what` is what will be in it ("LMDB"), for messages.
  NewFolder(const std::string& path, const std::string& what);
  /// Removes the temporary folder unless keep() succeeded.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Without slashes at its end.
  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  /// Makes a file in it, synced to disk.
  void write(const std::string& name, std::string_view contents) const;
  /// Syncs the folder and renames it. What lies in its files is to be on the disk already.
  void keep();

 private:
  NewFolder() = default;
  void remove_leftovers(const std::string& what) const;

  std::string path_, temporary_;
  int folder_ = -1;  ///< the temporary one, open and locked
};

/// Fails when `path`, or the folder that it lies in, is a NewFolder that was not kept.
void require_complete(const std::string& path);

}  // namespace crema
