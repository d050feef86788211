// One rule for loading and for describe-net.
#include "net/weight_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace crema {

namespace {

bool has_layer(const Graph& graph, const std::string& name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name() == name; });
}

}  // namespace

std::string misfit(const Graph& graph, const Node& node, const StoredLayer& stored, bool hdf5) {
  if (!stored.needs.empty() && !has_layer(graph, stored.needs)) {
    return fmt::format(
        "the file holds a scale and bias with it, as NVIDIA's and Intel's Caffe do, but the net "
        "has no layer \"{}\" for them (batch_norm_param {{ scale_bias: true }} makes one)",
        stored.needs);
  }
  const std::size_t count = node.params.size();
  if (stored.blobs.size() > count || (stored.blobs.size() < count && !hdf5)) {
    return fmt::format("the file holds {}, the net's layer has {}",
                       counted(static_cast<long long>(stored.blobs.size()), "blob"),
                       counted(static_cast<long long>(count), "parameter"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ParamNode& param = graph.params[static_cast<std::size_t>(node.params[i])];
    const Node& owner = graph.nodes[static_cast<std::size_t>(param.owner)];
    const bool present = i < stored.blobs.size() && stored.blobs[i].present;
    if (!present && &owner == &node) return fmt::format("blob {} is not in the file", i);
    if (!present) continue;
    const StoredBlob& blob = stored.blobs[i];
    if (!fits(blob, node.param_shapes[i])) {
      return fmt::format("blob {} has shape {} in the file, {} in the net", i, blob.shape.str(),
                         node.param_shapes[i].str());
    }
  }
  return "";
}

}  // namespace crema
