// What an HDF5 file holds.
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.h"

namespace crema {

struct Hdf5Dataset {
  std::string name;
  std::string type;  ///< "32-bit float", "8-bit unsigned integer", "strings", …
  Shape shape;
};

/// The datasets at the top of the file, in byte order of their names; those whose shape is none
/// (null, or larger than can be) are left out.
std::vector<Hdf5Dataset> hdf5_datasets(const std::string& path);

/// `data (32-bit float, 100x3x28x28), label (…)`, or "no datasets".
std::string list_datasets(const std::vector<Hdf5Dataset>& datasets);

}  // namespace crema
