#include "data/hdf5_rows.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "proto/hdf5_lock.h"

namespace crema {

Hdf5Rows::Hdf5Rows(const std::string& path, const std::string& name) : path_(path), name_(name) {
  const Hdf5Lock lock;
  try {
    open();
  } catch (...) {
    // While the lock is held, which it no longer is when the members go.
    space_.reset();
    dataset_.reset();
    file_.reset();
    throw;
  }
}

Hdf5Rows::~Hdf5Rows() {
  const Hdf5Lock lock;
  space_.reset();
  dataset_.reset();
  file_.reset();
}

void Hdf5Rows::open() {
  file_ = hdf5::open_file(path_);
  require(!name_.empty() && hdf5::exists(file_, name_), "{} has no dataset \"{}\"", path_, name_);
  dataset_ = hdf5::Handle(H5Dopen2(file_.id(), name_.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset_.valid()) fail("\"{}\" in {} is not a dataset: {}", name_, path_, hdf5::reason());

  const hdf5::Handle type(H5Dget_type(dataset_.id()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  // An enumeration of integers is how Python stores booleans.
  require(kind == H5T_FLOAT || kind == H5T_INTEGER || kind == H5T_ENUM,
          "dataset \"{}\" in {} holds {}, not numbers", name_, path_,
          kind == H5T_STRING     ? "strings"
          : kind == H5T_COMPOUND ? "structures"
                                 : "something else");

  space_ = hdf5::Handle(H5Dget_space(dataset_.id()), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space_.id());
  require(axes >= 1, "dataset \"{}\" in {} has no axes; axis 0 has to count the rows", name_,
          path_);
  std::vector<hsize_t> dims(static_cast<std::size_t>(axes));
  H5Sget_simple_extent_dims(space_.id(), dims.data(), nullptr);
  const hdf5::Handle layout(H5Dget_create_plist(dataset_.id()), H5Pclose);
  if (H5Pget_layout(layout.id()) == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(dims.size());
    if (H5Pget_chunk(layout.id(), axes, chunk.data()) == axes && chunk[0] > 0) {
      chunk_rows_ = static_cast<std::int64_t>(std::min(chunk[0], std::max<hsize_t>(dims[0], 1)));
    }
  }
  with_context([&] { return fmt::format("dataset \"{}\" in {}", name_, path_); },
               [&] {
                 const Shape all(std::vector<std::int64_t>(dims.begin(), dims.end()));
                 rows_ = all[0];
                 row_shape_ =
                     Shape(std::vector<std::int64_t>(all.dims().begin() + 1, all.dims().end()));
                 // The library trusts a damaged header and would read over the end of what it has.
                 // (Storage that was never written has no bytes yet; its values are all the same.)
                 const H5D_layout_t form = H5Pget_layout(layout.id());
                 const hsize_t stored = H5Dget_storage_size(dataset_.id());
                 const hsize_t needed = static_cast<hsize_t>(all.count()) * H5Tget_size(type.id());
                 const bool may_be_less =
                     form == H5D_CONTIGUOUS ? stored == 0 || H5Pget_external_count(layout.id()) > 0
                                            : form != H5D_COMPACT;
                 require(may_be_less || stored >= needed,
                         "damaged: {} needs {} bytes, but {} are there", all.str(), needed, stored);
               });
}

void Hdf5Rows::read(std::int64_t first, std::int64_t count, float* out) const {
  CREMA_ASSERT(first >= 0 && count >= 0 && first + count <= rows_);
  if (count == 0 || row_shape_.count() == 0) return;
  const Hdf5Lock lock;
  std::vector<hsize_t> start{static_cast<hsize_t>(first)}, extent{static_cast<hsize_t>(count)};
  for (const std::int64_t dim : row_shape_.dims()) {
    start.push_back(0);
    extent.push_back(static_cast<hsize_t>(dim));
  }
  const hdf5::Handle from(H5Scopy(space_.id()), H5Sclose);
  const hdf5::Handle to(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                        H5Sclose);
  const bool done =
      H5Sselect_hyperslab(from.id(), H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                          nullptr) >= 0 &&
      H5Dread(dataset_.id(), H5T_NATIVE_FLOAT, to.id(), from.id(), H5P_DEFAULT, out) >= 0;
  if (!done) {
    fail("cannot read rows {} to {} of dataset \"{}\" in {}: {}", first, first + count - 1, name_,
         path_, hdf5::reason());
  }
}

}  // namespace crema
