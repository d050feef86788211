// Reading a dataset of an HDF5 file by rows.
#pragma once

#include <cstdint>
#include <string>

#include "proto/hdf5.h"
#include "tensor/shape.h"

namespace crema {

/// One dataset, its axis 0 taken as rows, its numbers as floats. Objects may be used from different
/// threads, each by one at a time.
class Hdf5Rows {
 public:
  /// Fails, naming file and dataset, when either is not there, or is no array of numbers.
  Hdf5Rows(const std::string& path, const std::string& name);
  ~Hdf5Rows();
  Hdf5Rows(Hdf5Rows&&) noexcept = default;
  Hdf5Rows& operator=(Hdf5Rows&&) = delete;

  std::int64_t rows() const { return rows_; }
  /// Without axis 0.
  const Shape& row_shape() const { return row_shape_; }
  /// Rows that are stored, and perhaps compressed, together; 1 where rows lie one by one.
  std::int64_t chunk_rows() const { return chunk_rows_; }

  /// `count` rows from `first` on, converted to float.
  void read(std::int64_t first, std::int64_t count, float* out) const;

 private:
  void open();

  std::string path_, name_;
  hdf5::Handle file_{-1, nullptr}, dataset_{-1, nullptr}, space_{-1, nullptr};
  std::int64_t rows_ = 0, chunk_rows_ = 1;
  Shape row_shape_;
};

}  // namespace crema
