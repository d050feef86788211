#include "proto/hdf5.h"

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cstring>

#include "base/error.h"

namespace crema::hdf5 {
namespace fs = boost::filesystem;
namespace {

Handle checked(hid_t id, Handle::Close close, const char* verb, const std::string& name) {
  if (id < 0) fail("cannot {} \"{}\" in the HDF5 file: {}", verb, name, reason());
  return Handle(id, close);
}

Handle open_dataset(const Handle& parent, const std::string& name) {
  return checked(H5Dopen2(parent.id(), name.c_str(), H5P_DEFAULT), H5Dclose, "open", name);
}

std::vector<hsize_t> dims_of(const Handle& dataset, const std::string& name) {
  const Handle space = checked(H5Dget_space(dataset.id()), H5Sclose, "read", name);
  const int axes = H5Sget_simple_extent_ndims(space.id());
  require(axes >= 0, "\"{}\" in the HDF5 file has no simple shape", name);
  std::vector<hsize_t> dims(static_cast<std::size_t>(axes));
  H5Sget_simple_extent_dims(space.id(), dims.data(), nullptr);
  return dims;
}

Shape shape_of(const Handle& dataset, const std::string& name) {
  const std::vector<hsize_t> dims = dims_of(dataset, name);
  return Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
}

void require_numbers(const Handle& dataset, const std::string& name) {
  const Handle type = checked(H5Dget_type(dataset.id()), H5Tclose, "read", name);
  const H5T_class_t kind = H5Tget_class(type.id());
  require(kind == H5T_FLOAT || kind == H5T_INTEGER, "\"{}\" in the HDF5 file does not hold numbers",
          name);
}

void write_dataset(const Handle& parent, const std::string& name, const Handle& space,
                   hid_t file_type, hid_t memory_type, const void* values, bool empty = false) {
  const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create", name);
  H5Pset_obj_track_times(properties.id(), false);
  const Handle dataset = checked(H5Dcreate2(parent.id(), name.c_str(), file_type, space.id(),
                                            H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                                 H5Dclose, "create", name);
  if (empty) return;
  if (H5Dwrite(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    fail("cannot write \"{}\" to the HDF5 file: {}", name, reason());
  }
}

Handle space_of(const Shape& shape, const std::string& name) {
  const std::vector<hsize_t> dims(shape.dims().begin(), shape.dims().end());
  const hid_t id =
      dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.axes(), dims.data(), nullptr);
  return checked(id, H5Sclose, "create", name);
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

bool Handle::reset() {
  const bool closed = id_ < 0 || close_(id_) >= 0;
  id_ = -1;
  return closed;
}

std::string reason() {
  std::string text;
  const auto visit = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    auto* text = static_cast<std::string*>(out);
    if (text->empty() && error->desc && *error->desc) *text = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, visit, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "HDF5 gives no reason" : text;
}

Handle open_file(const std::string& path) {
  boost::system::error_code error;
  require(fs::exists(path, error), "HDF5 file {} does not exist{}", path,
          fs::path(path).is_absolute() ? ""
                                       : fmt::format(" (in {})", fs::current_path(error).string()));
  require(fs::is_regular_file(path, error), "{} is not an HDF5 file: it is not a regular file",
          path);
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "open", path);
#if H5_VERSION_GE(1, 10, 7)
  // Locks fail on read-only media and network file systems, and reading needs none.
  H5Pset_file_locking(access.id(), false, true);
#endif
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id());
  if (id < 0) fail("cannot open {} as an HDF5 file: {}", path, reason());
  return Handle(id, H5Fclose);
}

Handle create_in_memory() {
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create", "file");
  constexpr std::size_t kGrowth = std::size_t{1} << 20;
  H5Pset_fapl_core(access.id(), kGrowth, false);
  // The name is never that of a file on disk.
  return checked(H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose,
                 "create", "file");
}

std::string image(const Handle& file) {
  H5Fflush(file.id(), H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file.id(), nullptr, 0);
  require(size > 0, "the HDF5 file could not be put together: {}", reason());
  std::string bytes(static_cast<std::size_t>(size), '\0');
  require(H5Fget_file_image(file.id(), bytes.data(), bytes.size()) == size,
          "the HDF5 file could not be put together: {}", reason());
  return bytes;
}

bool exists(const Handle& parent, const std::string& name) {
  return H5Lexists(parent.id(), name.c_str(), H5P_DEFAULT) > 0;
}

Handle open_group(const Handle& parent, const std::string& name) {
  return checked(H5Gopen2(parent.id(), name.c_str(), H5P_DEFAULT), H5Gclose, "open group", name);
}

Handle create_group(const Handle& parent, const std::string& name) {
  require(name.find('/') == std::string::npos && !name.empty(),
          "\"{}\" cannot be a group of an HDF5 file", name);
  const Handle properties = checked(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "create group", name);
  H5Pset_obj_track_times(properties.id(), false);
  return checked(H5Gcreate2(parent.id(), name.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                 H5Gclose, "create group", name);
}

std::vector<Entry> entries(const Handle& parent) {
  std::vector<Entry> found;
  const auto visit = [](hid_t group, const char* name, const H5L_info_t*, void* out) -> herr_t {
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    const bool is_group = object >= 0 && H5Iget_type(object) == H5I_GROUP;
    if (object >= 0) H5Oclose(object);
    static_cast<std::vector<Entry>*>(out)->push_back({name, is_group});
    return 0;
  };
  hsize_t position = 0;
  if (H5Literate(parent.id(), H5_INDEX_NAME, H5_ITER_INC, &position, visit, &found) < 0) {
    fail("cannot list a group of the HDF5 file: {}", reason());
  }
  return found;
}

Shape dataset_shape(const Handle& parent, const std::string& name) {
  return shape_of(open_dataset(parent, name), name);
}

std::vector<float> read_floats(const Handle& parent, const std::string& name) {
  const Handle dataset = open_dataset(parent, name);
  require_numbers(dataset, name);
  const Shape shape = shape_of(dataset, name);
  std::vector<float> values;
  try {
    values.resize(static_cast<std::size_t>(shape.count()));
  } catch (const std::exception&) {  // a damaged header can claim any size
    fail("\"{}\" in the HDF5 file has shape {}, for which there is not enough memory", name,
         shape.str());
  }
  if (H5Dread(dataset.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail("cannot read \"{}\" from the HDF5 file: {}", name, reason());
  }
  return values;
}

int read_int(const Handle& parent, const std::string& name) {
  const Handle dataset = open_dataset(parent, name);
  require_numbers(dataset, name);
  const Shape shape = shape_of(dataset, name);
  require(shape.count() == 1, "\"{}\" in the HDF5 file is not one number", name);
  int value = 0;
  if (H5Dread(dataset.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    fail("cannot read \"{}\" from the HDF5 file: {}", name, reason());
  }
  return value;
}

std::string read_string(const Handle& parent, const std::string& name) {
  const Handle dataset = open_dataset(parent, name);
  const Handle type = checked(H5Dget_type(dataset.id()), H5Tclose, "read", name);
  require(H5Tget_class(type.id()) == H5T_STRING && shape_of(dataset, name).count() == 1,
          "\"{}\" in the HDF5 file is not a string", name);
  if (H5Tis_variable_str(type.id()) > 0) {
    const Handle memory = checked(H5Tcopy(H5T_C_S1), H5Tclose, "read", name);
    H5Tset_size(memory.id(), H5T_VARIABLE);
    H5Tset_cset(memory.id(), H5Tget_cset(type.id()));
    char* text = nullptr;
    if (H5Dread(dataset.id(), memory.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) < 0) {
      fail("cannot read \"{}\" from the HDF5 file: {}", name, reason());
    }
    std::string value = text ? text : "";
    H5free_memory(text);
    return value;
  }
  std::string value(H5Tget_size(type.id()), '\0');
  if (H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
    fail("cannot read \"{}\" from the HDF5 file: {}", name, reason());
  }
  value.resize(std::strlen(value.c_str()));
  return value;
}

std::string read_bytes(const Handle& parent, const std::string& name) {
  const Handle dataset = open_dataset(parent, name);
  require_numbers(dataset, name);
  const Shape shape = shape_of(dataset, name);
  require(shape.count() < (std::int64_t{1} << 31), "\"{}\" in the HDF5 file is too large", name);
  std::string value(static_cast<std::size_t>(shape.count()), '\0');
  if (H5Dread(dataset.id(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
    fail("cannot read \"{}\" from the HDF5 file: {}", name, reason());
  }
  return value;
}

void write_floats(const Handle& parent, const std::string& name, const Shape& shape,
                  const float* values) {
  write_dataset(parent, name, space_of(shape, name), H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, values,
                shape.count() == 0);
}

void write_int(const Handle& parent, const std::string& name, int value) {
  write_dataset(parent, name, space_of(Shape{1}, name), H5T_NATIVE_INT, H5T_NATIVE_INT, &value);
}

void write_string(const Handle& parent, const std::string& name, const std::string& value) {
  const Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, "create", name);
  H5Tset_size(type.id(), value.size() + 1);
  write_dataset(parent, name, space_of(Shape(), name), type.id(), type.id(), value.c_str());
}

void write_bytes(const Handle& parent, const std::string& name, const std::string& value) {
  write_dataset(parent, name, space_of(Shape{static_cast<std::int64_t>(value.size())}, name),
                H5T_NATIVE_UINT8, H5T_NATIVE_UINT8, value.data(), value.empty());
}

}  // namespace crema::hdf5
