// Working directories, and copies of cases that write files.
#pragma once

#include <string>

namespace crema::conformance {

/// The working directory while it lives.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& folder);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::string former_;
};

/// A copy of a folder that is removed at the end.
class TemporaryCopy {
 public:
  explicit TemporaryCopy(const std::string& folder);
  ~TemporaryCopy();
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The folder of this program.
std::string program_folder();

}  // namespace crema::conformance
