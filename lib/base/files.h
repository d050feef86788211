// Whole files in and out. Every failure is a user error that names the path and the system's
// reason.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace crema {

/// The contents of a regular file. Fails on directories and on files that cannot be opened.
std::string read_file(const std::string& path);

/// Writes a file that is either wholly there or not at all: `write` fills a temporary file in the
/// same folder, which is synced to disk and renamed over `path`. On any failure `path` is untouched
/// and the temporary file is removed.
void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string& temporary)>& write);
void write_file_atomically(const std::string& path, std::string_view contents);

/// Makes a rename or a new file in this folder survive a crash, where the file system can: not
/// every one lets a folder be synced, and then nothing is lost but that promise.
void sync_folder(const std::string& folder);

/// The process that made a temporary file of write_file_atomically, by its name; 0 for other files.
int temporary_writer(const std::string& path);

/// Fails unless files can be created in the folder that `path` lies in; `purpose` names what for.
void require_writable_folder(const std::string& path, const std::string& purpose);

}  // namespace crema
