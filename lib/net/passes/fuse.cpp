// What a device can do in one go: a ReLU moves into the layer before it.
//
// On the CPU that is InnerProduct, whose bias sweep applies it. Not Convolution: oneDNN's fused
// ReLU turns NaN into 0, where Caffe keeps it, so a broken training would look healthy.
#include "net/passes/passes.h"

namespace crema {
namespace {

/// Why this ReLU cannot move into its producer, or "".
std::string refusal(const Graph& graph, const Node& relu, DeviceKind device) {
  const Value& input = graph.values[static_cast<std::size_t>(relu.bottoms[0])];
  const Value& output = graph.values[static_cast<std::size_t>(relu.tops[0])];
  const Node& producer = graph.nodes[static_cast<std::size_t>(input.producer)];
  std::string reason;
  if (!producer.layer->can_fuse_relu(device, &reason)) return reason;
  if (producer.fused_relu) return "it has a ReLU already";
  if (input.keep && input.blob != output.blob) return "its top is asked for by name";
  if (input.loss_weight != 0) return "its top is a loss";
  // Backward tells the two sides of the ReLU apart by the sign of the top.
  if (relu.definition.relu_param().negative_slope() < 0) return "negative_slope is below 0";
  if (producer.backward && !relu.backward) return "the ReLU passes no gradient";
  return "";
}

}  // namespace

void fuse(Graph& graph, DeviceKind device) {
  for (Node& relu : graph.nodes) {
    if (relu.type() != "ReLU") continue;
    const int input = relu.bottoms[0];
    Node& producer = graph.nodes[static_cast<std::size_t>(
        graph.values[static_cast<std::size_t>(input)].producer)];
    relu.fuse_refusal = refusal(graph, relu, device);
    if (!relu.fuse_refusal.empty()) continue;
    const int top = graph.values[static_cast<std::size_t>(input)].producer_top;
    producer.tops[static_cast<std::size_t>(top)] = relu.tops[0];
    producer.fused_relu = true;
    producer.fused_relu_slope = relu.definition.relu_param().negative_slope();
    relu.fused_away = true;
    relu.backward = false;
  }
  relink(graph);
}

}  // namespace crema
