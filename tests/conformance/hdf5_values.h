// All numbers of an HDF5 file.
#pragma once

#include <map>
#include <string>

#include "report.h"

namespace crema::conformance {

/// By path within the file or group: "conv1/0". Strings are left out.
using Values = std::map<std::string, Array>;

Values read_values(const std::string& file);
/// Those below a group, by their paths within it; none when there is no such group.
Values values_below(const Values& values, const std::string& group);

/// Layer "a/b" and index 1 of the path "a/b/1".
struct ParamPath {
  std::string layer;
  int index = 0;
};
ParamPath param_path(const std::string& path);

}  // namespace crema::conformance
