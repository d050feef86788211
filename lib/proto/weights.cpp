#include "proto/weights.h"

#include <climits>

#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "proto/blobs.h"
#include "proto/file_kind.h"
#include "proto/io.h"
#include "proto/mapped_file.h"
#include "proto/upgrade.h"
#include "proto/weights_hdf5.h"

namespace crema {
namespace {

/// Why a file of this kind is not taken, and what to do with it.
std::string refusal(FileKind kind, std::string_view content) {
  switch (kind) {
    case FileKind::kSolverState:
      return "is a solver state, not weights; give it to --snapshot";
    case FileKind::kText:
      return "is a text file, not weights; if it is a prototxt, give it as --model or --solver";
    case FileKind::kEmpty:
      return "is empty";
    case FileKind::kUnknown: {
      const std::string broken = broken_record(content);
      return fmt::format("is neither an HDF5 file nor a binary net, so it holds no weights{}{}",
                         broken.empty() ? "" : "; ", broken);
    }
    default:
      return fmt::format("is {}, not weights", describe(kind));
  }
}

caffe::NetParameter parse_weights(std::string_view bytes, const std::string& path) {
  require(bytes.size() <= INT_MAX, "{} has {} bytes; binary weight files end at 2^31 - 1", path,
          bytes.size());
  caffe::NetParameter net;
  if (!parse_quietly(bytes, &net)) {
    const std::string broken = broken_record(bytes);
    fail("the weights in {} cannot be read: {}", path,
         broken.empty() ? fmt::format("layer {} is damaged", net.layer_size() + net.layers_size())
                        : broken);
  }
  return net;
}

/// protobuf takes much for a net that is none; weights have layers with blobs, or at least nothing
/// unknown.
void require_plausible(const caffe::NetParameter& net, const std::string& path) {
  for (const auto& layer : net.layer()) {
    if (layer.blobs_size() > 0) return;
  }
  for (const auto& layer : net.layers()) {
    if (layer.blobs_size() > 0 || layer.layer().blobs_size() > 0) return;
  }
  require(net.GetReflection()->GetUnknownFields(net).empty(),
          "{} does not look like weights: no layer has values, and there are fields that nets do "
          "not have",
          path);
}

StoredLayer take_layer(caffe::LayerParameter* layer) {
  StoredLayer stored{layer->name(), layer->type(), {}, {}};
  for (int i = 0; i < layer->blobs_size(); ++i) {
    caffe::BlobProto& blob = *layer->mutable_blobs(i);
    with_context(
        [&] { return fmt::format("layer \"{}\", blob {}", layer->name(), i); },
        [&] {
          stored.blobs.push_back({stored_shape(blob), is_legacy(blob), true, values(blob)});
        });
    // Memory goes back as we go, so that large weights are held once.
    caffe::BlobProto().Swap(&blob);
  }
  return stored;
}

/// Whether the blobs are mean, variance and factor with scale (and bias) behind them, as NVIDIA's
/// and Intel's BatchNorm has. In HDF5 files only the shapes tell.
bool is_scaled_batch_norm(const StoredLayer& layer) {
  const std::size_t count = layer.blobs.size();
  if ((count != 4 && count != 5) || (!layer.type.empty() && layer.type != "BatchNorm")) {
    return false;
  }
  const Shape& mean = layer.blobs[0].shape;
  for (std::size_t i = 0; i < count; ++i) {
    const StoredBlob& blob = layer.blobs[i];
    if (!blob.present || blob.shape.count() != (i == 2 ? 1 : mean.count())) return false;
    if (layer.type.empty() && blob.shape.axes() != 1) return false;
  }
  return true;
}

void split_batch_norms(std::vector<StoredLayer>* layers) {
  std::vector<StoredLayer> split;
  for (StoredLayer& layer : *layers) {
    if (!is_scaled_batch_norm(layer)) {
      split.push_back(std::move(layer));
      continue;
    }
    StoredLayer scale{scale_name(layer.name), layer.type.empty() ? "" : "Scale", {}, {}};
    for (std::size_t i = 3; i < layer.blobs.size(); ++i) {
      scale.blobs.push_back(std::move(layer.blobs[i]));
    }
    layer.blobs.resize(3);
    layer.needs = scale.name;
    split.push_back(std::move(layer));
    split.push_back(std::move(scale));
  }
  layers->swap(split);
}

}  // namespace

const StoredLayer* StoredWeights::find(const std::string& name) const {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->name == name) return &*layer;
  }
  return nullptr;
}

bool fits(const StoredBlob& blob, const Shape& parameter) {
  return shape_fits(blob.shape, blob.legacy, parameter);
}

StoredWeights read_weights(const std::string& path) {
  require_file(path, "weights");
  StoredWeights weights;
  weights.file = path;
  caffe::NetParameter net;
  {
    const MappedFile file(path);
    const FileKind kind = kind_of(file.bytes());
    if (kind == FileKind::kHdf5) {
      weights.hdf5 = true;
      weights.layers = read_hdf5_weights(path);
      split_batch_norms(&weights.layers);
      return weights;
    }
    require(kind == FileKind::kNet, "{} {}", path, refusal(kind, file.bytes()));
    net = parse_weights(file.bytes(), path);
  }
  require_plausible(net, path);
  with_context(path, [&] {
    upgrade_net(&net);
    for (caffe::LayerParameter& layer : *net.mutable_layer()) {
      weights.layers.push_back(take_layer(&layer));
    }
    split_batch_norms(&weights.layers);
  });
  return weights;
}

WeightFormat weight_format(const std::string& path) {
  const bool h5 = path.size() >= 3 && path.compare(path.size() - 3, 3, ".h5") == 0;
  return h5 ? WeightFormat::kHdf5 : WeightFormat::kBinary;
}

void require_storable(const caffe::NetParameter& net, std::int64_t values, WeightFormat format) {
  if (format == WeightFormat::kHdf5) {
    require_hdf5_names(net);
    return;
  }
  const auto bytes = static_cast<double>(values) * sizeof(float);
  require(bytes < static_cast<double>(std::numeric_limits<std::int32_t>::max()),
          "the weights take {}, but a binary file holds 2.1 GB at most; use snapshot_format: HDF5",
          human_bytes(bytes));
}

void write_weights(const caffe::NetParameter& net, const std::string& path, WeightFormat format) {
  if (format == WeightFormat::kHdf5) {
    write_hdf5_weights(net, path);
  } else {
    write_binary(net, path);
  }
}

}  // namespace crema
