// Names to edges.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "net/passes/passes.h"

namespace crema {
namespace {

std::string range_text(int low, int high, const char* noun) {
  if (low == high) return counted(low, noun);
  return high >= kMany ? "at least " + counted(low, noun)
                       : fmt::format("{} to {}", low, counted(high, noun));
}

void check_counts(const caffe::LayerParameter& layer, const LayerType& type, int tops) {
  const int bottoms = layer.bottom_size();
  require(bottoms >= type.min_bottoms && bottoms <= type.max_bottoms, "takes {}, not {}",
          range_text(type.min_bottoms, type.max_bottoms, "bottom"), bottoms);
  require(tops >= type.min_tops && tops <= type.max_tops, "gives {}, not {}",
          range_text(type.min_tops, type.max_tops, "top"), tops);
  require(!type.same_count || bottoms == tops, "gives as many tops as it has bottoms ({}), not {}",
          bottoms, tops);
  require(layer.loss_weight_size() == 0 || layer.loss_weight_size() == tops,
          "loss_weight must be given once for each of the {} tops or never, not {} times", tops,
          layer.loss_weight_size());
  require(layer.propagate_down_size() == 0 || layer.propagate_down_size() == bottoms,
          "propagate_down must be given once for each of the {} bottoms or never, not {} times",
          bottoms, layer.propagate_down_size());
}

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  void add(const caffe::LayerParameter& definition) {
    const LayerType& type = layer_type(definition.type());
    Node node;
    node.definition = definition;
    node.layer = type.make(definition);
    const int tops =
        std::max(definition.top_size(), std::min(node.layer->anonymous_tops(), type.max_tops));
    check_counts(definition, type, tops);
    const int index = static_cast<int>(graph_.nodes.size());
    for (const std::string& bottom : definition.bottom()) node.bottoms.push_back(consume(bottom));
    for (int top = 0; top < tops; ++top) node.tops.push_back(produce(definition, index, top));
    graph_.nodes.push_back(std::move(node));
  }

 private:
  int consume(const std::string& bottom) {
    const auto found = graph_.blobs.find(bottom);
    CREMA_ASSERT(found != graph_.blobs.end());  // insert_splits has looked
    return found->second;
  }

  int produce(const caffe::LayerParameter& definition, int node, int top) {
    Value value;
    value.producer = node;
    value.producer_top = top;
    if (top < definition.top_size()) value.blob = definition.top(top);
    const int index = static_cast<int>(graph_.values.size());
    if (!value.blob.empty()) {
      const bool in_place = top < definition.bottom_size() && definition.bottom(top) == value.blob;
      const auto known = graph_.blobs.find(value.blob);
      if (!in_place && known != graph_.blobs.end()) {
        const int maker = graph_.values[static_cast<std::size_t>(known->second)].producer;
        fail("top \"{}\" is already made by {}", value.blob,
             maker == node ? "this layer"
                           : fmt::format("layer \"{}\"",
                                         graph_.nodes[static_cast<std::size_t>(maker)].name()));
      }
      graph_.blobs[value.blob] = index;
    }
    graph_.values.push_back(std::move(value));
    return index;
  }

  Graph& graph_;
};

}  // namespace

void relink(Graph& graph) {
  for (Value& value : graph.values) value.producer = value.consumer = -1;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.fused_away) continue;
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      Value& value = graph.values[static_cast<std::size_t>(node.bottoms[i])];
      CREMA_ASSERT(value.consumer < 0);
      value.consumer = static_cast<int>(n);
      value.consumer_bottom = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < node.tops.size(); ++i) {
      Value& value = graph.values[static_cast<std::size_t>(node.tops[i])];
      value.producer = static_cast<int>(n);
      value.producer_top = static_cast<int>(i);
    }
  }
}

Graph build(const FilteredNet& filtered, const caffe::NetState& state) {
  const caffe::NetParameter net = insert_splits(filtered);
  Graph graph;
  graph.name = net.name();
  graph.state = state;
  graph.force_backward = net.force_backward();
  Builder builder(graph);
  for (const caffe::LayerParameter& layer : net.layer()) {
    with_context([&] { return describe_layer(layer); }, [&] { builder.add(layer); });
  }
  relink(graph);
  for (const auto& [blob, value] : graph.blobs) {
    if (graph.values[static_cast<std::size_t>(value)].consumer < 0) graph.outputs.push_back(value);
  }
  for (const int output : graph.outputs) graph.values[static_cast<std::size_t>(output)].keep = true;
  return graph;
}

}  // namespace crema
