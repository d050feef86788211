#include "net_access.h"

#include "base/error.h"
#include "net/executor.h"

namespace crema::conformance {
namespace {

int input_value(const Graph& graph, const std::string& blob) {
  for (const Node& node : graph.nodes) {
    if (node.type() != "Input") continue;
    for (const int top : node.tops) {
      if (graph.values[static_cast<std::size_t>(top)].blob == blob) return top;
    }
  }
  fail("the net has no input \"{}\"", blob);
}

}  // namespace

std::vector<std::size_t> definition_order(const Net& net) {
  std::vector<std::size_t> order;
  const std::vector<Node>& nodes = net.graph().nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_reorder) order.push_back(i);
  }
  return order;
}

const ParamNode* find_param(const Net& net, const std::string& layer, int index) {
  const Graph& graph = net.graph();
  for (const Node& node : graph.nodes) {
    if (node.name() != layer || node.is_reorder) continue;
    if (index < 0 || static_cast<std::size_t>(index) >= node.params.size()) return nullptr;
    return &graph.params[static_cast<std::size_t>(node.params[static_cast<std::size_t>(index)])];
  }
  return nullptr;
}

std::vector<float> input_gradient(const Net& net, const std::string& blob) {
  const int value = input_value(net.graph(), blob);
  const Tensor& gradient = net.executor().gradient(value);
  if (gradient) return read_plain(gradient);
  const Shape& shape = net.graph().values[static_cast<std::size_t>(value)].shape;
  return std::vector<float>(static_cast<std::size_t>(shape.count()));
}

void set_output_gradient(Net* net, const std::string& blob, const std::vector<float>& values) {
  if (net->executor().gradient(net->graph().blobs.at(blob))) net->write_gradient(blob, values);
}

}  // namespace crema::conformance
