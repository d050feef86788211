#include "data/hdf5_writer.h"

#include <glog/logging.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;

std::vector<hsize_t> dims_of(std::int64_t rows, const Shape& row) {
  std::vector<hsize_t> dims{static_cast<hsize_t>(rows)};
  for (const std::int64_t size : row.dims()) dims.push_back(static_cast<hsize_t>(size));
  return dims;
}

}  // namespace

Hdf5Writer::~Hdf5Writer() {
  try {
    finish();
  } catch (const Error& error) {
    LOG(ERROR) << error.what();
  }
}

void Hdf5Writer::append(const std::string& name, const Shape& shape, const float* values) {
  CREMA_ASSERT(shape.axes() > 0);
  const Hdf5Lock lock;
  try {
    if (!file_.valid()) open();
    Dataset& to = dataset(name, shape);
    if (shape[0] == 0) return;
    const std::vector<hsize_t> size = dims_of(to.rows + shape[0], to.row);
    std::vector<hsize_t> start(size.size(), 0);
    start[0] = static_cast<hsize_t>(to.rows);
    const std::vector<hsize_t> count = dims_of(shape[0], to.row);
    const int axes = static_cast<int>(size.size());
    const auto check = [&](bool done) {  // at once: any later call makes the library forget why
      if (!done) fail("cannot write \"{}\" to {}: {}", name, path_, hdf5::reason());
    };
    check(H5Dset_extent(to.handle.id(), size.data()) >= 0);
    const hdf5::Handle file_space(H5Dget_space(to.handle.id()), H5Sclose);
    const hdf5::Handle memory_space(H5Screate_simple(axes, count.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr) >= 0);
    check(H5Dwrite(to.handle.id(), H5T_NATIVE_FLOAT, memory_space.id(), file_space.id(),
                   H5P_DEFAULT, values) >= 0);
    to.rows += shape[0];
  } catch (...) {
    discard();
    throw;
  }
}

void Hdf5Writer::flush() {
  if (!file_.valid()) return;
  const Hdf5Lock lock;
  if (H5Fflush(file_.id(), H5F_SCOPE_LOCAL) >= 0) return;
  const std::string reason = hdf5::reason();
  discard();
  fail("cannot write {}: {}", path_, reason);
}

void Hdf5Writer::finish() {
  if (!file_.valid()) return;
  const Hdf5Lock lock;
  try {
    flush();
    bool closed = true;
    for (auto& [name, dataset] : datasets_) closed = dataset.handle.reset() && closed;
    closed = file_.reset() && closed;
    require(closed, "cannot write {}: HDF5 cannot close it", path_);
    replacement_->keep();
    replacement_.reset();
    datasets_.clear();
  } catch (...) {
    discard();
    throw;
  }
}

void Hdf5Writer::open() {
  require_writable_file(path_);
  replacement_.emplace(path_);
  require(!replacement_->is_direct(), "{} is no regular file, HDF5 can be written to nothing else",
          path_);
  file_ = hdf5::Handle(
      H5Fcreate(replacement_->temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
      H5Fclose);
  if (!file_.valid()) fail("cannot create {}: {}", path_, hdf5::reason());
}

Hdf5Writer::Dataset& Hdf5Writer::dataset(const std::string& name, const Shape& shape) {
  const Shape row(shape.dims().subspan(1));
  const auto found = datasets_.find(name);
  if (found != datasets_.end()) {
    require(found->second.row == row, "rows of \"{}\" in {} are {}, but these are {}", name, path_,
            found->second.row.str(), row.str());
    return found->second;
  }
  require(row.count() > 0, "rows of \"{}\" are {}: there is nothing to write to {}", name,
          row.str(), path_);
  const std::int64_t row_bytes = row.count() * 4;
  // Chunks of about a megabyte, but of one batch at least when that is small.
  const std::int64_t chunk_rows = std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, 4096);
  std::vector<hsize_t> first = dims_of(0, row), most = first;
  most[0] = H5S_UNLIMITED;
  const std::vector<hsize_t> chunk = dims_of(chunk_rows, row);
  const int axes = static_cast<int>(first.size());
  const hdf5::Handle space(H5Screate_simple(axes, first.data(), most.data()), H5Sclose);
  const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.id(), false);
  H5Pset_chunk(properties.id(), axes, chunk.data());
  hdf5::Handle made(H5Dcreate2(file_.id(), name.c_str(), H5T_IEEE_F32LE, space.id(), H5P_DEFAULT,
                               properties.id(), H5P_DEFAULT),
                    H5Dclose);
  if (!made.valid()) fail("cannot create \"{}\" in {}: {}", name, path_, hdf5::reason());
  return datasets_.emplace(name, Dataset{std::move(made), row, 0}).first->second;
}

/// After a failure: nothing half-written stays.
void Hdf5Writer::discard() {
  datasets_.clear();
  file_.reset();
  replacement_.reset();
}

}  // namespace crema
