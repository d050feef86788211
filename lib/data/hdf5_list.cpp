#include "data/hdf5_list.h"

#include <boost/filesystem.hpp>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "proto/file_kind.h"

namespace crema {

bool is_hdf5_file(const std::string& path) {
  std::string head(8, '\0');
  boost::system::error_code ignored;
  if (boost::filesystem::is_regular_file(path, ignored)) {
    std::ifstream(path, std::ios::binary).read(head.data(), 8);
  }
  return kind_of(head) == FileKind::kHdf5;
}

std::vector<std::string> read_hdf5_list(const std::string& path) {
  require(!is_hdf5_file(path),
          "source is a text file that lists HDF5 files; {} is an HDF5 file itself", path);
  std::istringstream in(read_text_file(path));
  std::vector<std::string> names;
  for (std::string name; in >> name;) names.push_back(name);
  require(!names.empty(), "{} lists no HDF5 files", path);
  return names;
}

}  // namespace crema
