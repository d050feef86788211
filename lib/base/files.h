// Whole files in and out. Every failure is a user error that names the path and the system's
// reason.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crema {

/// The contents of a file, or what is written into a pipe until that is closed. Fails on
/// directories, on files that cannot be opened, and on a pipe that nobody has open for writing.
std::string read_file(const std::string& path);

/// The contents of a text file without a byte order mark at its start. A NUL byte is an error that
/// names the line.
std::string read_text_file(const std::string& path);

/// What is to take the place of `path`: a temporary file in the same folder, which keep() syncs to
/// disk and renames. A symbolic link stays, its target is replaced; a file's mode and, where
/// allowed, its owner stay. What is there and no regular file (a device, a pipe) is written to as
/// it is.
class Replacement {
 public:
  /// Fails when a folder is there, or when nothing can be made beside it.
  explicit Replacement(const std::string& path);
  /// Removes the temporary file unless keep() succeeded.
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  /// The file to fill.
  const std::string& temporary() const { return temporary_; }
  /// That is the device or pipe itself.
  bool is_direct() const { return direct_; }
  void keep();

 private:
  std::string path_, temporary_;
  bool direct_ = false, kept_ = false;
  std::optional<unsigned> mode_;  ///< of the file that is replaced
};

/// Writes a file that is either wholly there or not at all: `write` fills a Replacement's file. On
/// any failure `path` is untouched and the temporary file is removed.
void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string& temporary)>& write);
void write_file_atomically(const std::string& path, std::string_view contents);

/// Makes a rename or a new file in this folder survive a crash, where the file system can: not
/// every one lets a folder be synced, and then nothing is lost but that promise.
void sync_folder(const std::string& folder);

/// The process that made a temporary file of write_file_atomically, by its name; 0 for other files.
int temporary_writer(const std::string& path);

/// Fails when `path` cannot become a file: it is a folder, or lies in one that cannot be written
/// to.
void require_writable_file(const std::string& path);

/// Fails unless files can be created in the folder that `path` lies in; `purpose` names what for.
void require_writable_folder(const std::string& path, const std::string& purpose);

}  // namespace crema
