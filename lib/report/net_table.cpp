#include "report/net_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "net/param_store.h"

namespace crema {
namespace {

const Value& value_of(const Graph& graph, int index) {
  return graph.values[static_cast<std::size_t>(index)];
}

std::string shapes_text(const Graph& graph, const std::vector<int>& values) {
  std::vector<std::string> shapes;
  shapes.reserve(values.size());
  for (const int index : values) shapes.push_back(value_of(graph, index).shape.str());
  return fmt::format("{}", fmt::join(shapes, " "));
}

std::string layouts_text(const Graph& graph, const std::vector<int>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const int index : values) names.push_back(value_of(graph, index).layout.name());
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, " "));
}

/// Parameters that this node owns.
std::int64_t own_params(const Graph& graph, int node) {
  std::int64_t count = 0;
  for (const ParamNode& param : graph.params) {
    if (param.owner == node) count += param.shape.count();
  }
  return count;
}

std::size_t bytes_of_tops(const Graph& graph, const Node& node) {
  std::size_t bytes = 0;
  for (const int top : node.tops) {
    const Value& value = value_of(graph, top);
    bytes += static_cast<std::size_t>(value.layout.elements(value.shape)) * sizeof(float);
  }
  return bytes;
}

}  // namespace

std::string align_columns(std::vector<std::vector<std::string>> rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < left ? fmt::format("{:<{}}", row[i], widths[i])
                       : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string net_table(const Graph& graph, const MemoryPlan& memory, bool backward) {
  std::vector<std::vector<std::string>> rows = {
      {"layer", "type", "top shape", "parameters", "multiply-adds", "top bytes"}};
  std::int64_t params = 0, work = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.is_reorder || node.type() == "Split") continue;
    const std::int64_t own = own_params(graph, static_cast<int>(n));
    params += own;
    work += node.multiply_adds;
    rows.push_back(
        {node.name(), node.type(), shapes_text(graph, node.tops),
         own > 0 ? with_thousands(own) : "-",
         node.multiply_adds > 0 ? with_thousands(node.multiply_adds) : "-",
         node.fused_away ? "-" : human_bytes(static_cast<double>(bytes_of_tops(graph, node)))});
  }
  std::string text = align_columns(rows, 3);
  const auto megabytes = [](std::size_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  text += fmt::format("\nphase {}, {}, {} forward\n", caffe::Phase_Name(graph.state.phase()),
                      counted(params, "parameter"), counted(work, "multiply-add"));
  text += fmt::format("memory: activations{} {} (without sharing {}), parameters {}{}\n",
                      backward ? " and their gradients" : "", megabytes(memory.arena_bytes),
                      megabytes(memory.bytes_without_sharing), megabytes(param_bytes(graph)),
                      backward ? ", parameter gradients and history as much again each" : "");
  return text;
}

std::string net_engines(const Graph& graph, const std::vector<std::unique_ptr<Op>>& ops) {
  std::string text;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.fused_away) {
      text += fmt::format("{}: runs inside the layer before it\n", printable(node.name()));
      continue;
    }
    text += fmt::format("{}{}: {}, {} -> {}", node.is_reorder ? "reorder of " : "",
                        printable(node.name()), ops[n]->engine(), layouts_text(graph, node.bottoms),
                        layouts_text(graph, node.tops));
    for (const int param : node.params) {
      text += fmt::format(", parameter {}",
                          graph.params[static_cast<std::size_t>(param)].layout.name());
    }
    text += "\n";
    for (const std::string& refusal : ops[n]->refusals()) text += fmt::format("    {}\n", refusal);
    if (!node.fuse_refusal.empty()) text += fmt::format("    not fused: {}\n", node.fuse_refusal);
  }
  return text;
}

}  // namespace crema
