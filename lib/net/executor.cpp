#include "net/executor.h"

#include <algorithm>

#include "base/error.h"
#include "data/batch_reader.h"
#include "kernels/blas.h"

namespace crema {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

PlanRequest plan_request(const Graph& graph, const Node& node, Device& device) {
  PlanRequest request{device, {}, {}, {}, {}, {}, {}, {}, {}, false, 0};
  for (const int bottom : node.bottoms) {
    request.bottoms.push_back(graph.values[at(bottom)].shape);
    request.bottom_layouts.push_back(graph.values[at(bottom)].layout);
  }
  for (const int top : node.tops) {
    request.tops.push_back(graph.values[at(top)].shape);
    request.top_layouts.push_back(graph.values[at(top)].layout);
  }
  request.params = node.param_shapes;
  for (const int param : node.params) {
    request.param_layouts.push_back(graph.params[at(param)].layout);
  }
  request.bottom_gradients.assign(node.bottoms.size(), 0);
  request.param_gradients.assign(node.params.size(), 0);
  if (node.backward) {
    request.bottom_gradients = node.bottom_gradients;
    request.param_gradients = node.param_gradients;
  }
  request.fused_relu = node.fused_relu;
  request.fused_relu_slope = node.fused_relu_slope;
  return request;
}

std::unique_ptr<Op> plan_op(const Graph& graph, const Node& node, Device& device) {
  return with_context([&] { return node.where(); },
                      [&]() -> std::unique_ptr<Op> {
                        if (node.fused_away) return nullptr;
                        return node.layer->plan(plan_request(graph, node, device));
                      });
}

/// A parameter as one of its users sees it.
Tensor seen_as(const Tensor& tensor, const Shape& shape) {
  if (!tensor || tensor.shape() == shape) return tensor;
  CREMA_ASSERT(tensor.layout().is_plain() && tensor.shape().count() == shape.count());
  return Tensor(tensor.device(), shape, Layout(), tensor.update());
}

double sum_of(const Tensor& tensor) {
  if (tensor.elements() == 1) {  // a loss, each iteration
    float value = 0;
    tensor.copy_to_host(&value);
    return value;
  }
  double sum = 0;
  for (const float x : read_plain(tensor)) sum += x;
  return sum;
}

void* at_offset(float* arena, std::size_t offset) {
  return offset == MemoryPlan::kNowhere ? nullptr : reinterpret_cast<char*>(arena) + offset;
}

}  // namespace

std::vector<std::unique_ptr<Op>> plan_ops(const Graph& graph, Device& device) {
  std::vector<std::unique_ptr<Op>> ops;
  ops.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) ops.push_back(plan_op(graph, node, device));
  return ops;
}

std::vector<OpMemory> op_memory(const std::vector<std::unique_ptr<Op>>& ops) {
  std::vector<OpMemory> memory;
  memory.reserve(ops.size());
  for (const auto& op : ops) {
    memory.push_back(op ? OpMemory{op->workspace_bytes(), op->scratch_bytes()} : OpMemory{});
  }
  return memory;
}

Executor::Executor(Graph graph, Device& device, ParamStore& params, const ExecutorOptions& options)
    : graph_(std::move(graph)),
      device_(device),
      params_(params),
      options_(options),
      ops_(plan_ops(graph_, device)),
      planned_memory_(op_memory(ops_)),
      memory_(plan_memory(graph_, planned_memory_, options.backward, options.expose_gradients)),
      persistent_(graph_.values.size()),
      external_(graph_.values.size(), 0) {
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    if (memory_.persistent[i] == static_cast<int>(i)) {
      const Value& value = graph_.values[i];
      const auto floats = static_cast<std::size_t>(value.layout.elements(value.shape));
      with_context([&] { return graph_.nodes[at(value.producer)].where(); },
                   [&] {
                     persistent_[i] =
                         Buffer(device, std::max<std::size_t>(floats, 1) * sizeof(float));
                   });
    }
  }
}

void Executor::bind(float* arena) {
  arena_ = arena;
  data_.assign(graph_.values.size(), Tensor());
  gradient_.assign(graph_.values.size(), Tensor());
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    const Value& value = graph_.values[i];
    const int root = memory_.persistent[i];
    auto* data = static_cast<float*>(at_offset(arena, memory_.data[i]));
    if (root >= 0) data = persistent_[at(root)].floats();
    if (data != nullptr) data_[i] = Tensor(device_, value.shape, value.layout, data);
    auto* gradient = static_cast<float*>(at_offset(arena, memory_.gradient[i]));
    if (gradient != nullptr) {
      gradient_[i] = Tensor(device_, value.shape, value.layout, gradient);
    }
  }
  contexts_.clear();
  forward_scratch_.clear();
  backward_scratch_.clear();
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    contexts_.push_back(make_context(static_cast<int>(n)));
    contexts_.back().workspace = at_offset(arena, memory_.workspace[n]);
    forward_scratch_.push_back(at_offset(arena, memory_.scratch[n]));
    backward_scratch_.push_back(at_offset(arena, memory_.backward_scratch[n]));
  }
  for (const auto& [n, buffer] : grown_workspace_) contexts_[at(n)].workspace = buffer.data();
  for (const auto& [n, buffer] : grown_scratch_) {
    forward_scratch_[at(n)] = backward_scratch_[at(n)] = buffer.data();
  }
}

void Executor::adapt_to_data(int node_index) {
  const Node& source = graph_.nodes[at(node_index)];
  const std::vector<Shape> tops = source.layer->actual_tops(contexts_[at(node_index)].bottoms);
  const auto planned = [&](int top) { return graph_.values[at(top)].shape; };
  if (std::ranges::equal(tops, source.tops, {}, {}, planned)) return;
  // Made beside what is there, which an error leaves as it was.
  Graph next = graph_;
  infer_after(next, node_index, tops);
  std::vector<std::unique_ptr<Op>> ops(next.nodes.size());
  std::map<int, Buffer> workspace, scratch;
  const auto grow = [&](const std::map<int, Buffer>& before, std::size_t planned, int n,
                        std::size_t wanted, std::map<int, Buffer>* grown) {
    const auto found = before.find(n);
    if (wanted > (found == before.end() ? planned : found->second.bytes())) {
      (*grown)[n] = Buffer(device_, wanted);
    }
  };
  for (int n = node_index; n < static_cast<int>(next.nodes.size()); ++n) {
    if (!ops_[at(n)] || next.nodes[at(n)].bottoms.empty()) continue;
    ops[at(n)] = plan_op(next, next.nodes[at(n)], device_);
    const OpMemory& planned = planned_memory_[at(n)];
    grow(grown_workspace_, planned.workspace, n, ops[at(n)]->workspace_bytes(), &workspace);
    grow(grown_scratch_, planned.scratch, n, ops[at(n)]->scratch_bytes(), &scratch);
  }
  graph_ = std::move(next);
  for (std::size_t n = 0; n < ops.size(); ++n) {
    if (ops[n]) ops_[n] = std::move(ops[n]);
  }
  for (auto& [n, buffer] : workspace) grown_workspace_[n] = std::move(buffer);
  for (auto& [n, buffer] : scratch) grown_scratch_[n] = std::move(buffer);
  bind(arena_);
}

RunContext Executor::make_context(int node_index) {
  const Node& node = graph_.nodes[at(node_index)];
  RunContext run{device_, {}, {}, {}, {}, {}, {}, {}, nullptr, nullptr, 0, {}};
  for (const int bottom : node.bottoms) run.bottoms.push_back(data_[at(bottom)]);
  for (const int top : node.tops) run.tops.push_back(data_[at(top)]);
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    run.params.push_back(seen_as(params_.data(node.params[i]), node.param_shapes[i]));
  }
  run.top_gradients.resize(node.tops.size());
  run.bottom_gradients.resize(node.bottoms.size());
  run.param_gradients.resize(node.params.size());
  run.accumulate.resize(node.params.size());
  if (node.backward) {
    for (std::size_t i = 0; i < node.tops.size(); ++i) {
      const Value& value = graph_.values[at(node.tops[i])];
      if (value.gradient || value.loss_weight != 0) {
        run.top_gradients[i] = gradient_[at(node.tops[i])];
      }
    }
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      if (node.bottom_gradients[i]) run.bottom_gradients[i] = gradient_[at(node.bottoms[i])];
    }
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      if (node.param_gradients[i]) {
        run.param_gradients[i] = seen_as(params_.gradient(node.params[i]), node.param_shapes[i]);
      }
    }
  }
  run.describe_item = [this, node_index](int item) { return describe_item(node_index, item); };
  return run;
}

std::string Executor::describe_item(int node_index, int item) const {
  // Back through layers that hand their bottom on, to the reader that the labels come from.
  const Node* node = &graph_.nodes[at(node_index)];
  int value = node->bottoms.empty() ? -1 : node->bottoms.back();
  while (value >= 0) {
    node = &graph_.nodes[at(graph_.values[at(value)].producer)];
    value = node->is_reorder || node->layer->is_view(0) ? node->bottoms[0] : -1;
  }
  const BatchReader* reader = node->layer->reader();
  return reader != nullptr ? reader->describe(item) : "";
}

float Executor::forward(std::uint64_t pass, NetObserver* observer) {
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].layer->tops_depend_on_data()) adapt_to_data(static_cast<int>(n));
    if (!ops_[n]) continue;
    const Node& node = graph_.nodes[n];
    RunContext& run = contexts_[n];
    run.pass = pass;
    run.scratch = forward_scratch_[n];
    if (!memory_.forward_is_view[n]) {
      with_context([&] { return node.where(); }, [&] { ops_[n]->forward(run); });
    }
    if (observer != nullptr && !node.is_reorder) observer->after_forward(node, run);
  }
  double loss = 0;
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    const Value& value = graph_.values[i];
    if (value.loss_weight == 0 || value.producer < 0) continue;
    loss += value.loss_weight * sum_of(data_[i]);
  }
  external_.assign(external_.size(), 0);
  return static_cast<float>(loss);
}

bool Executor::gather_top_gradients(const Node& node, RunContext& run) {
  bool any = false;
  for (std::size_t i = 0; i < node.tops.size(); ++i) {
    const auto index = at(node.tops[i]);
    const Value& value = graph_.values[index];
    if (options_.expose_gradients) {
      // Only then can the user give one, from pass to pass.
      const bool arrives = value.gradient || external_[index] || value.loss_weight != 0;
      run.top_gradients[i] = arrives ? gradient_[index] : Tensor();
    }
    const Tensor& gradient = run.top_gradients[i];
    if (gradient && !value.gradient && !external_[index]) {
      fill(device_, gradient.elements(), value.loss_weight, gradient.write());
    }
    any |= static_cast<bool>(gradient);
  }
  return any;
}

void Executor::backward_node(int node_index, std::uint64_t pass) {
  const auto n = at(node_index);
  const Node& node = graph_.nodes[n];
  RunContext& run = contexts_[n];
  run.pass = pass;
  run.scratch = backward_scratch_[n];
  if (!gather_top_gradients(node, run)) {
    // No gradient arrives: zero for the bottoms, nothing for the parameters.
    for (const Tensor& gradient : run.bottom_gradients) {
      if (gradient) gradient.fill_zero();
    }
    return;
  }
  if (memory_.backward_is_view[n]) return;
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    run.accumulate[i] = static_cast<char>(params_.written(node.params[i]));
  }
  with_context([&] { return node.where(); }, [&] { ops_[n]->backward(run); });
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    if (node.param_gradients[i]) params_.mark_written(node.params[i]);
  }
}

void Executor::show_backward(int node_index, NetObserver& observer) {
  const Node& node = graph_.nodes[at(node_index)];
  if (node.is_reorder) return;
  // Gradients that count as zero are shown as zeros.
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    if (node.param_gradients[i]) params_.finish_gradient(node.params[i]);
  }
  observer.after_backward(node, contexts_[at(node_index)]);
}

void Executor::backward(std::uint64_t pass, NetObserver* observer) {
  CREMA_ASSERT(options_.backward);
  for (int n = static_cast<int>(graph_.nodes.size()) - 1; n >= 0; --n) {
    if (!graph_.nodes[at(n)].backward) continue;
    backward_node(n, pass);
    if (observer != nullptr) show_backward(n, *observer);
  }
  if (observer != nullptr) observer->after_all_backward();
}

}  // namespace crema
