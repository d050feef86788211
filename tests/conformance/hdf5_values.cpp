#include "hdf5_values.h"

#include "base/error.h"
#include "proto/hdf5.h"

namespace crema::conformance {
namespace {

bool holds_numbers(const hdf5::Handle& parent, const std::string& name) {
  const hdf5::Handle dataset(H5Dopen2(parent.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  require(dataset.valid(), "cannot open the dataset \"{}\"", name);
  const hdf5::Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  return kind == H5T_FLOAT || kind == H5T_INTEGER;
}

void collect(const hdf5::Handle& parent, const std::string& prefix, Values* out) {
  for (const hdf5::Entry& entry : hdf5::entries(parent)) {
    if (entry.is_group) {
      collect(hdf5::open_group(parent, entry.name), prefix + entry.name + "/", out);
    } else if (holds_numbers(parent, entry.name)) {
      (*out)[prefix + entry.name] = {hdf5::dataset_shape(parent, entry.name),
                                     hdf5::read_floats(parent, entry.name)};
    }
  }
}

}  // namespace

Values read_values(const std::string& file) {
  Values values;
  const hdf5::Handle handle = hdf5::open_file(file);
  with_context(file, [&] { collect(handle, "", &values); });
  return values;
}

Values values_below(const Values& values, const std::string& group) {
  Values found;
  const std::string prefix = group + "/";
  for (const auto& [path, array] : values) {
    if (path.rfind(prefix, 0) == 0) found[path.substr(prefix.size())] = array;
  }
  return found;
}

ParamPath param_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  require(slash != std::string::npos, "\"{}\" is no LAYER/INDEX", path);
  return {path.substr(0, slash), std::stoi(path.substr(slash + 1))};
}

}  // namespace crema::conformance
