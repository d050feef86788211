// The texts that hdf5_data_param.source names.
#pragma once

#include <string>
#include <vector>

namespace crema {

/// The names of HDF5 files in a text, separated by white space. Fails when there are none, and when
/// `path` is an HDF5 file itself.
std::vector<std::string> read_hdf5_list(const std::string& path);

/// Whether a file begins as HDF5 files do.
bool is_hdf5_file(const std::string& path);

}  // namespace crema
