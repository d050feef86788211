// IDX files, the form in which MNIST and its successors come (yann.lecun.com/exdb/mnist).
#pragma once

#include <cstdint>
#include <string>

#include "tensor/shape.h"

namespace crema {

/// An array of bytes, slowest axis first.
struct IdxArray {
  Shape shape;
  std::string bytes;
};

/// Reads a file of unsigned bytes, plain or compressed by gzip. Fails when it is something else, or
/// has not exactly the bytes that its header asks for.
IdxArray read_idx(const std::string& path);

}  // namespace crema
