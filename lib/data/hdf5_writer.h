// Writing HDF5 files by rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/files.h"
#include "proto/hdf5.h"
#include "tensor/shape.h"

namespace crema {

/// A file of datasets that grow along axis 0. It is written under a temporary name beside `path`
/// and gets its own when it is finished, so that a file of that name is always complete.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(std::string path) : path_(std::move(path)) {}
  /// Finishes if something was appended; what goes wrong with that is logged.
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Adds shape[0] rows to a dataset, which the first call makes. Rows keep their shape.
  void append(const std::string& dataset, const Shape& shape, const float* values);
  /// Hands all to the system, so that a full disk is an error here and not at the end.
  void flush();
  /// Closes the file and puts it in place. Nothing can be appended then.
  void finish();

 private:
  struct Dataset {
    hdf5::Handle handle;
    Shape row;
    std::int64_t rows = 0;
  };

  void open();
  Dataset& dataset(const std::string& name, const Shape& shape);
  void discard();

  std::string path_;
  std::optional<Replacement> replacement_;
  hdf5::Handle file_{-1, nullptr};
  std::map<std::string, Dataset> datasets_;
};

}  // namespace crema
