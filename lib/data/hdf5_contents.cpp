#include "data/hdf5_contents.h"

#include "base/error.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

std::string type_name(hid_t dataset) {
  const hdf5::Handle type(H5Dget_type(dataset), H5Tclose);
  const std::size_t bits = 8 * H5Tget_size(type.id());
  switch (H5Tget_class(type.id())) {
    case H5T_FLOAT:
      return fmt::format("{}-bit float", bits);
    case H5T_INTEGER:
      return fmt::format("{}-bit {}integer", bits,
                         H5Tget_sign(type.id()) == H5T_SGN_NONE ? "unsigned " : "");
    case H5T_ENUM:
      return "enumeration";
    case H5T_STRING:
      return "strings";
    case H5T_COMPOUND:
      return "structures";
    default:
      return "of another type";
  }
}

}  // namespace

std::vector<Hdf5Dataset> hdf5_datasets(const std::string& path) {
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::open_file(path);
  std::vector<Hdf5Dataset> datasets;
  for (const hdf5::Entry& entry : hdf5::entries(file)) {
    if (entry.is_group) continue;
    const hdf5::Handle dataset(H5Dopen2(file.id(), entry.name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) continue;
    try {
      datasets.push_back(
          {entry.name, type_name(dataset.id()), hdf5::dataset_shape(file, entry.name)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUser) throw;
    }
  }
  return datasets;
}

std::string list_datasets(const std::vector<Hdf5Dataset>& datasets) {
  std::string text;
  for (const Hdf5Dataset& dataset : datasets) {
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", dataset.name, dataset.type,
                        dataset.shape.str());
  }
  return text.empty() ? "no datasets" : text;
}

}  // namespace crema
