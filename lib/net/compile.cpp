#include "net/compile.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

/// Layers without bottoms whose tops are named in `shapes` become Input layers of these shapes.
void replace_sources(caffe::NetParameter& net, const std::map<std::string, Shape>& shapes) {
  std::vector<std::string> sources;
  std::size_t replaced = 0;
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    if (layer.bottom_size() > 0 || layer.top_size() == 0) continue;
    sources.insert(sources.end(), layer.top().begin(), layer.top().end());
    const auto given = std::ranges::count_if(
        layer.top(), [&](const std::string& top) { return shapes.contains(top); });
    if (given == 0) continue;
    const auto first = shapes.find(layer.top(0));
    require(first != shapes.end(),
            "layer \"{}\": a shape of its first top \"{}\" is needed beside that of another",
            layer.name(), layer.top(0));
    replaced += static_cast<std::size_t>(given);
    layer.set_type("Input");
    layer.clear_transform_param();
    auto* input = layer.mutable_input_param();
    input->Clear();
    for (const std::string& top : layer.top()) {
      const auto found = shapes.find(top);
      const Shape shape = found != shapes.end() ? found->second : Shape{first->second.legacy(0)};
      caffe::BlobShape* stored = input->add_shape();
      for (const std::int64_t dim : shape.dims()) stored->add_dim(dim);
    }
  }
  if (replaced == shapes.size()) return;
  for (const auto& [blob, shape] : shapes) {
    require(std::find(sources.begin(), sources.end(), blob) != sources.end(),
            "the net has no data or Input layer with top \"{}\"{}", blob,
            did_you_mean(blob, sources));
  }
}

}  // namespace

Graph build_graph(const caffe::NetParameter& net, const caffe::NetState& state, std::uint64_t seed,
                  const std::map<std::string, Shape>& input_shapes, const ReaderOptions& reading) {
  FilteredNet filtered = filter(net, state);
  replace_sources(filtered.net, input_shapes);
  Graph graph = build(filtered, state);
  for (Node& node : graph.nodes) {
    node.layer->set_seed(seed);
    node.layer->set_reading(reading);
  }
  return graph;
}

void plan_graph(Graph& graph, Device& device, bool backward,
                const std::map<int, Layout>& fixed_params, bool may_fuse) {
  differentiate(graph, backward);
  if (may_fuse) fuse(graph, device.kind());
  layout(graph, device, fixed_params);
}

Graph compile(const caffe::NetParameter& net, const caffe::NetState& state, Device& device,
              bool backward, const std::map<std::string, Shape>& input_shapes) {
  Graph graph = build_graph(net, state, 0, input_shapes);
  infer(graph);
  plan_graph(graph, device, backward, {});
  return graph;
}

}  // namespace crema
