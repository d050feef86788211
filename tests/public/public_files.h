// Nets, solvers and weights as people have published them. They are too many and too variously
// licensed to be kept here; the folder is given by CREMA_PUBLIC_FILES or lies beside the checkout,
// else the tests skip. CREMA_SHOW_REFUSALS=1 prints every file that is refused, with the reason.
#pragma once

#include <boost/filesystem.hpp>
#include <map>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace crema::testing {

boost::filesystem::path public_folder();

/// The lines of a table with a header, as column name → cell.
using Row = std::map<std::string, std::string>;
std::vector<Row> read_table(const boost::filesystem::path& file);

struct NpyArray {
  Shape shape;
  std::vector<float> values;
};
/// A NumPy file of little-endian floats in C order.
NpyArray read_npy(const boost::filesystem::path& file);

bool show_refusals();

}  // namespace crema::testing
