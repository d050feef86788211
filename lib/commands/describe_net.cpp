#include "commands/describe_net.h"

#include <glog/logging.h>

#include "base/error.h"
#include "base/text.h"
#include "base/tool.h"
#include "net/compile.h"
#include "net/executor.h"
#include "net/weight_fit.h"
#include "proto/io.h"
#include "proto/weights.h"
#include "report/net_table.h"
#include "solver/solver.h"

namespace crema {
namespace {

UsageError not_a_shape(const std::string& text) {
  return UsageError(
      fmt::format("--input_shape: \"{}\" is not an input shape like data=32x3x227x227", text));
}

Shape parse_shape(const std::string& text) {
  std::vector<std::int64_t> dims;
  for (const std::string& part : split(text, 'x')) {
    std::size_t used = 0;
    std::int64_t dim = -1;
    try {
      dim = std::stoll(part, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != part.size() || dim < 0) throw not_a_shape(text);
    dims.push_back(dim);
  }
  if (dims.empty()) throw not_a_shape(text);
  return Shape(std::move(dims));
}

/// Prints how a weight file fits; false when it does not.
bool describe_weights(const Graph& graph, const std::string& file) {
  const StoredWeights weights = read_weights(file);
  std::vector<std::vector<std::string>> rows = {{"layer", "in the net", "in " + file, ""}};
  bool all_fit = true;
  const auto add = [&](const std::string& layer, const std::string& net, const std::string& stored,
                       const std::string& verdict) {
    rows.push_back({layer, net, stored, verdict});
  };
  for (const Node& node : graph.nodes) {
    const StoredLayer* stored = weights.find(node.name());
    if (node.params.empty() && (stored == nullptr || stored->blobs.empty())) continue;
    std::vector<std::string> wanted, found;
    for (const Shape& shape : node.param_shapes) wanted.push_back(shape.str());
    std::string verdict = "not in the file: keeps its filler's values";
    if (stored != nullptr) {
      for (const StoredBlob& blob : stored->blobs) found.push_back(blob.shape.str());
      const std::string reason = misfit(graph, node, *stored, weights.hdf5);
      all_fit &= reason.empty();
      verdict = reason.empty() ? "fits" : "DIFFERS: " + reason;
    }
    add(node.name(), fmt::format("{}", fmt::join(wanted, " ")),
        stored == nullptr ? "-" : fmt::format("{}", fmt::join(found, " ")), verdict);
  }
  for (const StoredLayer& layer : weights.layers) {
    bool known = layer.blobs.empty();
    for (const Node& node : graph.nodes) known |= node.name() == layer.name;
    if (known) continue;
    add(layer.name, "-", counted(static_cast<long long>(layer.blobs.size()), "blob"),
        "not in the net");
  }
  print(fmt::format("\n{}", align_columns(rows, 4)));
  return all_fit;
}

}  // namespace

std::map<std::string, Shape> parse_shapes(const std::string& text) {
  std::map<std::string, Shape> shapes;
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) throw not_a_shape(item);
    shapes[item.substr(0, equals)] = parse_shape(item.substr(equals + 1));
  }
  return shapes;
}

int describe_net(const DescribeOptions& options) {
  const std::map<std::string, Shape> input_shapes = parse_shapes(options.input_shapes);
  std::vector<std::string> upgrades;
  caffe::NetParameter net = read_net(options.model, &upgrades, {options.dialect});
  for (const std::string& upgrade : upgrades) LOG(INFO) << "upgraded: " << upgrade;
  caffe::NetState own;
  own.set_phase(options.phase);
  own.set_level(options.level);
  for (const std::string& stage : split(options.stages, ',')) own.add_stage(stage);
  const caffe::NetState state = merged_state(options.phase, net, own);
  const bool backward = options.phase == caffe::TRAIN;
  const std::unique_ptr<Device> device = choose_device(options.device);

  const Graph graph = compile(net, state, *device, backward, input_shapes);
  const std::vector<std::unique_ptr<Op>> ops = plan_ops(graph, *device);
  const MemoryPlan memory = plan_memory(graph, op_memory(ops), backward, false);
  if (!graph.name.empty()) print(fmt::format("net \"{}\"\n\n", printable(graph.name)));
  print(net_table(graph, memory, backward));
  if (options.explain) print(fmt::format("\n{}", net_engines(graph, ops)));
  return options.weights.empty() || describe_weights(graph, options.weights) ? 0 : 1;
}

}  // namespace crema
