// A net compiled for one set of input shapes: a flat list of ops with all their tensors bound.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "net/graph.h"
#include "net/net_observer.h"
#include "net/param_store.h"
#include "net/passes/passes.h"

namespace crema {

/// The ops of a graph whose layouts are chosen; null where nothing runs (fused away).
std::vector<std::unique_ptr<Op>> plan_ops(const Graph& graph, Device& device);
/// What the memory pass wants to know of them.
std::vector<OpMemory> op_memory(const std::vector<std::unique_ptr<Op>>& ops);

struct ExecutorOptions {
  bool backward = false;
  bool expose_gradients = false;
};

class Executor {
 public:
  Executor(Graph graph, Device& device, ParamStore& params, const ExecutorOptions& options);

  const Graph& graph() const { return graph_; }
  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }
  const MemoryPlan& memory() const { return memory_; }

  /// All tensors lie in this arena of memory().arena_bytes from now on.
  void bind(float* arena);

  /// The weighted loss. `observer` may be null.
  float forward(std::uint64_t pass, NetObserver* observer = nullptr);
  void backward(std::uint64_t pass, NetObserver* observer = nullptr);

  const Tensor& data(int value) const { return data_[static_cast<std::size_t>(value)]; }
  const Tensor& gradient(int value) const { return gradient_[static_cast<std::size_t>(value)]; }
  /// The user set the gradient of an output: backward starts from it.
  void mark_external_gradient(int value) { external_[static_cast<std::size_t>(value)] = 1; }

 private:
  RunContext make_context(int node);
  /// Before a node whose tops depend on data: where they have other sizes than planned, plans what
  /// follows again. Everything keeps its place, which is large enough.
  void adapt_to_data(int node);
  /// The record behind item `item` of the last bottom of a node (a loss's labels), as far as it can
  /// be told.
  std::string describe_item(int node, int item) const;
  /// Top gradients of a node as they are before its backward; whether any arrives.
  bool gather_top_gradients(const Node& node, RunContext& run);
  void backward_node(int node, std::uint64_t pass);
  void show_backward(int node, NetObserver& observer);

  Graph graph_;
  Device& device_;
  ParamStore& params_;
  ExecutorOptions options_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<OpMemory> planned_memory_;
  MemoryPlan memory_;
  std::vector<Buffer> persistent_;  // by value
  std::vector<Tensor> data_, gradient_;
  std::vector<RunContext> contexts_;
  std::vector<void*> forward_scratch_, backward_scratch_;
  std::vector<char> external_;
  float* arena_ = nullptr;
  /// Workspace and scratch of ops that want more for smaller tops than was planned, by node.
  std::map<int, Buffer> grown_workspace_, grown_scratch_;
};

}  // namespace crema
