// What the tests of this folder share: a folder of their own and the text of errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <fstream>
#include <string>

#include "base/error.h"

namespace crema::testing {

/// A new empty folder, removed with everything in it at the end.
class Scratch {
 public:
  Scratch()
      : folder_(boost::filesystem::temp_directory_path() /
                boost::filesystem::unique_path("crema-%%%%-%%%%-%%%%")) {
    boost::filesystem::create_directories(folder_);
  }
  ~Scratch() {
    boost::system::error_code ignored;
    boost::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string folder() const { return folder_.string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    // A new file each time: filesystems flush one that is emptied and refilled, which is slow.
    boost::filesystem::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  boost::filesystem::path folder_;
};

/// The text of the user error that `body` ends with; "" if it ends well.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUser) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace crema::testing
