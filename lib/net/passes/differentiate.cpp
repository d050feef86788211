// Which gradients backward computes: Caffe's rules.
#include "base/error.h"
#include "net/passes/passes.h"

namespace crema {
namespace {

Value& value_of(Graph& graph, int index) { return graph.values[static_cast<std::size_t>(index)]; }

/// Forward through the net: a layer needs backward if a bottom's value does or a parameter learns.
/// Returns which values come from layers that learn.
std::vector<char> mark_needs(Graph& graph) {
  std::vector<char> needs(graph.values.size(), 0);
  for (Node& node : graph.nodes) {
    node.bottom_gradients.assign(node.bottoms.size(), 0);
    node.param_gradients.assign(node.params.size(), 0);
    node.backward = false;
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      const char needed = needs[static_cast<std::size_t>(node.bottoms[i])];
      // propagate_down decides about this bottom alone, not about the layer.
      node.bottom_gradients[i] = node.definition.propagate_down_size() > 0
                                     ? node.definition.propagate_down(static_cast<int>(i))
                                     : needed;
      node.backward |= needed != 0;
    }
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      node.param_gradients[i] = graph.params[static_cast<std::size_t>(node.params[i])].lr_mult != 0;
      node.backward |= node.param_gradients[i] != 0;
    }
    for (const int top : node.tops) needs[static_cast<std::size_t>(top)] = node.backward;
  }
  return needs;
}

/// Backward through the net: what does not reach the loss, or whose consumers refuse a gradient,
/// gets none.
void prune(Graph& graph) {
  std::vector<char> under_loss(graph.values.size(), 0);
  std::vector<char> refused(graph.values.size(), 0);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool contributes = false, all_refused = true;
    for (const int top : node->tops) {
      const auto index = static_cast<std::size_t>(top);
      contributes |= graph.values[index].loss_weight != 0 || under_loss[index] != 0;
      all_refused &= refused[index] != 0;
    }
    if (node->backward && all_refused) {
      node->backward = false;
      node->bottom_gradients.assign(node->bottoms.size(), 0);
    }
    if (!contributes) node->backward = false;
    for (std::size_t i = 0; i < node->bottoms.size(); ++i) {
      const auto index = static_cast<std::size_t>(node->bottoms[i]);
      if (contributes) {
        under_loss[index] = 1;
      } else {
        node->bottom_gradients[i] = 0;
      }
      if (node->bottom_gradients[i] == 0) refused[index] = 1;
    }
  }
}

/// Labels of a loss that layers made which learn: their part of the gradient would be missing.
void refuse_learned_labels(const Graph& graph, const std::vector<char>& needs) {
  for (const Node& node : graph.nodes) {
    if (!node.backward || node.bottoms.size() < 2 || node.bottom_gradients[1] == 0 ||
        needs[static_cast<std::size_t>(node.bottoms[1])] == 0) {
      continue;
    }
    const bool loss = node.layer->default_loss_weight() != 0;
    require(!loss || node.layer->differentiable(1),
            "{}: bottom 1 (labels) comes from layers that learn, but this layer has no gradient "
            "for it; add propagate_down: true propagate_down: false, or set their lr_mult to 0",
            node.where());
  }
}

void force_all(Graph& graph) {
  for (Node& node : graph.nodes) {
    node.backward = true;
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      node.bottom_gradients[i] |= node.layer->allow_force_backward(static_cast<int>(i));
    }
    node.param_gradients.assign(node.params.size(), 1);
  }
}

}  // namespace

void differentiate(Graph& graph, bool backward) {
  const std::vector<char> needs = mark_needs(graph);
  if (backward) {
    prune(graph);
    refuse_learned_labels(graph, needs);
    if (graph.force_backward) force_all(graph);
  }
  for (Value& value : graph.values) value.gradient = false;
  for (ParamNode& param : graph.params) param.gradient = false;
  for (Node& node : graph.nodes) {
    node.backward &= backward;
    bool any = false;
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      // Labels and the like have no gradient to give, whoever asks.
      node.bottom_gradients[i] = node.backward && node.bottom_gradients[i] &&
                                 node.layer->differentiable(static_cast<int>(i));
      any |= node.bottom_gradients[i] != 0;
      if (node.bottom_gradients[i]) value_of(graph, node.bottoms[i]).gradient = true;
    }
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      node.param_gradients[i] &= static_cast<char>(node.backward);
      any |= node.param_gradients[i] != 0;
      if (node.param_gradients[i]) {
        graph.params[static_cast<std::size_t>(node.params[i])].gradient = true;
      }
    }
    // Nothing is asked of it: its backward need not run.
    node.backward &= any;
  }
}

}  // namespace crema
