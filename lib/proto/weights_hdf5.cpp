#include "proto/weights_hdf5.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "proto/blobs.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

constexpr int kMaxBlobs = 10000;  // of one layer; more is a damaged file
constexpr int kMaxNesting = 32;

/// Reads a layer's group. Groups within it are layers whose names hold a slash.
void read_layer(const hdf5::Handle& parent, const std::string& group_name, const std::string& name,
                int depth, std::vector<StoredLayer>* layers) {
  require(depth < kMaxNesting, "groups are nested too deep at \"{}\"", name);
  const hdf5::Handle group = hdf5::open_group(parent, group_name);
  StoredLayer layer{name, "", {}, {}};
  std::vector<std::string> inner;
  for (const hdf5::Entry& entry : hdf5::entries(group)) {
    if (entry.is_group) {
      inner.push_back(entry.name);
      continue;
    }
    const int index = blob_index(entry.name);
    require(index >= 0, "layer \"{}\" has a data set \"{}\"; those of weights are called 0, 1, …",
            name, entry.name);
    StoredBlob missing;
    missing.present = false;
    if (static_cast<int>(layer.blobs.size()) <= index) {
      layer.blobs.resize(static_cast<std::size_t>(index) + 1, missing);
    }
    StoredBlob& blob = layer.blobs[static_cast<std::size_t>(index)];
    with_context([&] { return fmt::format("layer \"{}\", blob {}", name, index); },
                 [&] {
                   blob.shape = hdf5::dataset_shape(group, entry.name);
                   blob.data = hdf5::read_floats(group, entry.name);
                   blob.present = true;
                 });
  }
  if (inner.empty() || !layer.blobs.empty()) layers->push_back(std::move(layer));
  for (const std::string& below : inner) {
    read_layer(group, below, fmt::format("{}/{}", name, below), depth + 1, layers);
  }
}

/// What the file is when it has no group `data`.
std::string refusal(const hdf5::Handle& file) {
  if (hdf5::exists(file, "iter") && hdf5::exists(file, "history")) {
    return "is a solver state, not weights; give it to --snapshot";
  }
  return "is an HDF5 file without a group \"data\", so it holds no weights";
}

/// The group of a layer, with those around it.
hdf5::Handle layer_group(const hdf5::Handle& parent, const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string first = name.substr(0, slash);
  hdf5::Handle group = hdf5::exists(parent, first) ? hdf5::open_group(parent, first)
                                                   : hdf5::create_group(parent, first);
  return slash == std::string::npos ? std::move(group) : layer_group(group, name.substr(slash + 1));
}

void write_layer(const hdf5::Handle& data, const hdf5::Handle* diff,
                 const caffe::LayerParameter& layer) {
  const hdf5::Handle values_group = layer_group(data, layer.name());
  std::optional<hdf5::Handle> diff_group;
  if (diff) diff_group.emplace(layer_group(*diff, layer.name()));
  for (int i = 0; i < layer.blobs_size(); ++i) {
    const caffe::BlobProto& blob = layer.blobs(i);
    const std::string name = std::to_string(i);
    const bool has_shape = blob.has_shape() || is_legacy(blob);
    const bool stored = blob.data_size() > 0 || blob.double_data_size() > 0 ||
                        (has_shape && stored_shape(blob).count() == 0);
    if (stored) {
      const std::vector<float> data_values = values(blob);
      hdf5::write_floats(values_group, name, stored_shape(blob), data_values.data());
    }
    if (diff_group && blob.diff_size() > 0) {
      const Shape shape = stored_shape(blob);
      require(blob.diff_size() == shape.count(),
              "the shape {} needs {} gradients, but there are {}", shape.str(), shape.count(),
              blob.diff_size());
      hdf5::write_floats(*diff_group, name, shape, blob.diff().data());
    }
  }
}

bool has_diff(const caffe::NetParameter& net) {
  for (const auto& layer : net.layer()) {
    for (const auto& blob : layer.blobs()) {
      if (blob.diff_size() > 0) return true;
    }
  }
  return false;
}

}  // namespace

int blob_index(const std::string& name) {
  if (name.empty() || name.size() > 4 || (name[0] == '0' && name.size() > 1)) return -1;
  int index = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return -1;
    index = index * 10 + (c - '0');
  }
  return index < kMaxBlobs ? index : -1;
}

std::vector<StoredLayer> read_hdf5_weights(const std::string& path) {
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::open_file(path);
  if (!hdf5::exists(file, "data")) fail("{} {}", path, refusal(file));
  for (const hdf5::Entry& entry : hdf5::entries(file)) {
    // A data set of that name makes it a file of training data.
    require(entry.name != "data" || entry.is_group, "{} is an HDF5 data set, not weights", path);
  }
  return with_context(path, [&] {
    std::vector<StoredLayer> layers;
    const hdf5::Handle data = hdf5::open_group(file, "data");
    for (const hdf5::Entry& entry : hdf5::entries(data)) {
      require(entry.is_group, "\"data/{}\" is not a layer's group", entry.name);
      read_layer(data, entry.name, entry.name, 0, &layers);
    }
    return layers;
  });
}

void require_hdf5_names(const caffe::NetParameter& net) {
  std::set<std::string> names;
  for (const auto& layer : net.layer()) {
    const std::string& name = layer.name();
    require(!name.empty(), "a layer without a name cannot be saved as HDF5");
    require(names.insert(name).second,
            "two layers are called \"{}\", which cannot be saved as HDF5", name);
    const std::vector<std::string> parts = split(name, '/');
    // HDF5 takes empty parts and dots for none.
    const bool plain = fmt::format("{}", fmt::join(parts, "/")) == name &&
                       std::find(parts.begin(), parts.end(), ".") == parts.end();
    require(plain,
            "layer \"{}\": such a name cannot be saved as HDF5; use snapshot_format: "
            "BINARYPROTO or rename the layer",
            name);
    require(parts.size() < kMaxNesting,
            "layer \"{}\": the name has {} parts, HDF5 groups are nested {} deep at most", name,
            parts.size(), kMaxNesting - 1);
  }
  for (const std::string& name : names) {
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      const std::string outer = name.substr(0, slash);
      const std::string below = name.substr(slash + 1, name.find('/', slash + 1) - slash - 1);
      require(
          !names.contains(outer) || blob_index(below) < 0,
          "layers \"{}\" and \"{}\" cannot both be saved as HDF5, where \"{}\" is the name of a "
          "parameter of the first; rename one",
          outer, name, below);
    }
  }
}

void write_hdf5_weights(const caffe::NetParameter& net, const std::string& path) {
  require_hdf5_names(net);
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::create_in_memory();
  {
    const hdf5::Handle data = hdf5::create_group(file, "data");
    std::optional<hdf5::Handle> diff;
    if (has_diff(net)) diff.emplace(hdf5::create_group(file, "diff"));
    for (const auto& layer : net.layer()) {
      with_context([&] { return fmt::format("{}: layer \"{}\"", path, layer.name()); },
                   [&] { write_layer(data, diff ? &*diff : nullptr, layer); });
    }
  }
  write_file_atomically(path, hdf5::image(file));
}

}  // namespace crema
