// The layout of every value and parameter, with the fewest reorders.
#include <limits>

#include "base/error.h"
#include "layers/fields.h"
#include "net/passes/passes.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

/// What a copy into another layout costs: read and write at memory speed, some 20 GB/s on one core.
double reorder_seconds(const Shape& shape) {
  return 1e-6 + static_cast<double>(shape.count()) * 2 * sizeof(float) / 20e9;
}

class ReorderOp final : public Op {
 public:
  void forward(const RunContext& run) override { reorder(run.bottoms[0], run.tops[0]); }
  void backward(const RunContext& run) override {
    reorder(run.top_gradients[0], run.bottom_gradients[0]);
  }
};

/// Stands between two layers that want the same value in different layouts.
class ReorderLayer final : public Layer {
 public:
  using Layer::Layer;
  Inference infer(const std::vector<Shape>& bottoms) const override { return {bottoms, {}, 0}; }
  bool backward_reads_bottom(int) const override { return false; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<ReorderOp>();
  }
};

class Chooser {
 public:
  Chooser(Graph& graph, Device& device, const std::map<int, Layout>& fixed)
      : graph_(graph),
        device_(device),
        fixed_(fixed),
        chosen_(graph.params.size(), 0),
        plain_only_(graph.params.size(), 0) {
    find_plain_only();
  }

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      sizes_change_ |= node.layer->tops_depend_on_data();
      if (!node.fused_away) {
        with_context([&] { return node.where(); }, [&] { apply(node, best_choice(node)); });
      }
      graph_.nodes.push_back(std::move(node));
    }
    relink_producers();
  }

 private:
  Value& value(int index) { return graph_.values[static_cast<std::size_t>(index)]; }
  ParamNode& param(int index) { return graph_.params[static_cast<std::size_t>(index)]; }

  /// Shared parameters whose users would not agree on another layout than the plain one.
  void find_plain_only() {
    std::vector<const Node*> first_user(graph_.params.size(), nullptr);
    bool sizes_change = false;
    for (const Node& node : graph_.nodes) {
      sizes_change |= node.layer->tops_depend_on_data();
      for (std::size_t i = 0; i < node.params.size(); ++i) {
        const auto index = static_cast<std::size_t>(node.params[i]);
        const Node*& first = first_user[index];
        if (first == nullptr) first = &node;
        if (!(node.param_shapes[i] == graph_.params[index].shape) || !agree(*first, node) ||
            sizes_change) {
          plain_only_[index] = 1;
        }
      }
    }
  }

  /// They convert what they are given, or are of one type on bottoms of one shape, so that each has
  /// the choices of the other.
  bool agree(const Node& a, const Node& b) {
    if (a.layer->converts_params() && b.layer->converts_params()) return true;
    if (a.type() != b.type() || a.bottoms.size() != b.bottoms.size()) return false;
    for (std::size_t i = 0; i < a.bottoms.size(); ++i) {
      if (!(value(a.bottoms[i]).shape == value(b.bottoms[i]).shape)) return false;
    }
    return true;
  }

  const Layout* given_layout(int index) const {
    static const Layout plain;
    const auto found = fixed_.find(index);
    if (found != fixed_.end()) return &found->second;
    if (plain_only_[static_cast<std::size_t>(index)]) return &plain;
    if (chosen_[static_cast<std::size_t>(index)]) {
      return &graph_.params[static_cast<std::size_t>(index)].layout;
    }
    return nullptr;
  }

  LayoutChoice follow_bottom(const Node& node) {
    LayoutChoice choice;
    const Layout layout = node.bottoms.empty() ? Layout() : value(node.bottoms[0]).layout;
    choice.bottoms.assign(node.bottoms.size(), layout);
    choice.tops.assign(node.tops.size(), layout);
    choice.params.resize(node.params.size());
    return choice;
  }

  double total_cost(const Node& node, const LayoutChoice& choice) {
    double cost = choice.cost;
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      const Value& bottom = value(node.bottoms[i]);
      if (!(bottom.layout == choice.bottoms[i])) {
        cost += reorder_seconds(bottom.shape) * (node.bottom_gradients[i] ? 2 : 1);
      }
    }
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      const Layout* given = given_layout(node.params[i]);
      if (given != nullptr && !(*given == choice.params[i])) {
        const bool own_shape = node.param_shapes[i] == param(node.params[i]).shape;
        if (!node.layer->converts_params() || (!own_shape && !given->is_plain())) {
          return std::numeric_limits<double>::infinity();
        }
        cost += reorder_seconds(param(node.params[i]).shape) * (node.param_gradients[i] ? 2 : 1);
      }
    }
    return cost;
  }

  LayoutChoice best_choice(const Node& node) {
    if (node.layer->any_layout()) return follow_bottom(node);
    LayoutRequest request{device_, {}, {}, {}, {}, {}};
    if (node.backward) {
      request.bottom_gradients = node.bottom_gradients;
      request.param_gradients = node.param_gradients;
    }
    request.bottom_gradients.resize(node.bottoms.size());
    request.param_gradients.resize(node.params.size());
    for (const int bottom : node.bottoms) request.bottoms.push_back(value(bottom).shape);
    for (const int top : node.tops) request.tops.push_back(value(top).shape);
    request.params = node.param_shapes;
    std::vector<LayoutChoice> choices = node.layer->layouts(request);
    CREMA_ASSERT(!choices.empty());
    // Other layouts hold the sizes that they were made for.
    if (sizes_change_) choices = {plain_choice(request)};
    std::size_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const double cost = total_cost(node, choices[i]);
      if (cost < best_cost) {
        best_cost = cost;
        best = i;
      }
    }
    require(best_cost < std::numeric_limits<double>::infinity(),
            "its parameters lie in an order that suits the net that it shares them with, but not "
            "these inputs");
    return std::move(choices[best]);
  }

  void apply(Node& node, const LayoutChoice& choice) {
    for (std::size_t i = 0; i < node.bottoms.size(); ++i) {
      if (!(value(node.bottoms[i]).layout == choice.bottoms[i])) {
        node.bottoms[i] =
            add_reorder(node, node.bottoms[i], choice.bottoms[i], node.bottom_gradients[i] != 0);
      }
    }
    for (std::size_t i = 0; i < node.tops.size(); ++i) {
      value(node.tops[i]).layout = choice.tops[i];
    }
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      const Layout* given = given_layout(node.params[i]);
      ParamNode& parameter = param(node.params[i]);
      parameter.layout = given != nullptr ? *given : choice.params[i];
      chosen_[static_cast<std::size_t>(node.params[i])] = 1;
    }
  }

  /// A node that brings `from` into `layout`; its top is what `consumer` reads instead.
  int add_reorder(const Node& consumer, int from, const Layout& layout, bool gradient) {
    Node node;
    node.is_reorder = true;
    node.definition.set_name(
        fmt::format("{} ({} to {})", value(from).blob, value(from).layout.name(), layout.name()));
    node.definition.set_type("Reorder");
    node.definition.set_phase(consumer.definition.phase());
    node.layer = std::make_shared<ReorderLayer>(node.definition);
    node.bottoms = {from};
    node.bottom_gradients = {static_cast<char>(gradient)};
    node.backward = gradient;
    Value to;
    to.shape = value(from).shape;
    to.layout = layout;
    to.gradient = gradient;
    const int index = static_cast<int>(graph_.values.size());
    graph_.values.push_back(std::move(to));
    node.tops = {index};
    graph_.nodes.push_back(std::move(node));
    return index;
  }

  /// Indices moved: producers and consumers are found again, owners of parameters by their order.
  void relink_producers() {
    relink(graph_);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (std::size_t i = 0; i < graph_.nodes[n].params.size(); ++i) {
        ParamNode& parameter = param(graph_.nodes[n].params[i]);
        if (!owned_.insert({graph_.nodes[n].params[i], true}).second) continue;
        parameter.owner = static_cast<int>(n);
      }
    }
  }

  Graph& graph_;
  Device& device_;
  const std::map<int, Layout>& fixed_;
  std::vector<char> chosen_, plain_only_;
  bool sizes_change_ = false;  ///< of some layer up to here, tops depend on data
  std::map<int, bool> owned_;
};

}  // namespace

void layout(Graph& graph, Device& device, const std::map<int, Layout>& fixed_params) {
  Chooser(graph, device, fixed_params).run();
}

}  // namespace crema
