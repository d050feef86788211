// Shapes and parameters, with nothing allocated.
#include "base/error.h"
#include "base/text.h"
#include "net/passes/passes.h"

namespace crema {
namespace {

/// The owner of a shared parameter, or -1.
int find_shared(const Graph& graph, const std::string& name) {
  if (name.empty()) return -1;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    if (graph.params[i].shared_name == name) return static_cast<int>(i);
  }
  return -1;
}

/// The first explicit value of any sharer counts; a second one must be equal.
void merge_multiplier(const char* field, const std::string& name, float given, float* value,
                      bool* was_given) {
  require(!*was_given || *value == given,
          "param \"{}\" is shared with {} {}; here it is {}: they must be equal", name, field,
          *value, given);
  *value = given;
  *was_given = true;
}

void apply_spec(const caffe::ParamSpec& spec, ParamNode* param) {
  if (spec.has_lr_mult()) {
    merge_multiplier("lr_mult", spec.name(), spec.lr_mult(), &param->lr_mult, &param->lr_given);
  }
  if (spec.has_decay_mult()) {
    merge_multiplier("decay_mult", spec.name(), spec.decay_mult(), &param->decay_mult,
                     &param->decay_given);
  }
}

void check_shared_shape(const Graph& graph, const ParamNode& owner, const caffe::ParamSpec& spec,
                        const Shape& shape) {
  const std::string& owner_layer = graph.nodes[static_cast<std::size_t>(owner.owner)].name();
  if (spec.share_mode() == caffe::ParamSpec::PERMISSIVE) {
    require(
        owner.shape.count() == shape.count(),
        "param \"{}\" is shared with layer \"{}\", but has {} values here ({}) and {} there ({})",
        spec.name(), owner_layer, shape.count(), shape.str(), owner.shape.count(),
        owner.shape.str());
  } else {
    require(owner.shape == shape,
            "param \"{}\" is shared with layer \"{}\", but its shape is {} here and {} there "
            "(share_mode: "
            "PERMISSIVE asks for equal counts only)",
            spec.name(), owner_layer, shape.str(), owner.shape.str());
  }
}

/// Makes the parameters of a node, or joins those it shares.
void declare_params(Graph& graph, int node_index, const std::vector<ParamDef>& defs) {
  Node& node = graph.nodes[static_cast<std::size_t>(node_index)];
  const caffe::LayerParameter& definition = node.definition;
  require(definition.param_size() <= static_cast<int>(defs.size()),
          "has {}, but {} param entries are given",
          counted(static_cast<long long>(defs.size()), "parameter"), definition.param_size());
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const bool has_spec = static_cast<int>(i) < definition.param_size();
    const caffe::ParamSpec spec =
        has_spec ? definition.param(static_cast<int>(i)) : caffe::ParamSpec();
    int index = find_shared(graph, spec.name());
    if (index < 0) {
      ParamNode param;
      param.owner = node_index;
      param.index = static_cast<int>(i);
      param.shared_name = spec.name();
      param.shape = defs[i].shape;
      param.filler = defs[i].filler;
      param.lr_mult = node.layer->default_lr_mult();
      index = static_cast<int>(graph.params.size());
      graph.params.push_back(std::move(param));
    } else {
      check_shared_shape(graph, graph.params[static_cast<std::size_t>(index)], spec, defs[i].shape);
    }
    apply_spec(spec, &graph.params[static_cast<std::size_t>(index)]);
    node.params.push_back(index);
    node.param_shapes.push_back(defs[i].shape);
  }
}

void check_params_unchanged(const Graph& graph, const Node& node,
                            const std::vector<ParamDef>& defs) {
  CREMA_ASSERT(node.params.size() == defs.size());
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const ParamNode& param = graph.params[static_cast<std::size_t>(node.params[i])];
    require(param.shape.count() == defs[i].shape.count(),
            "its parameter {} has shape {}, but these inputs ask for {}", i, param.shape.str(),
            defs[i].shape.str());
  }
}

float loss_weight_of(const Node& node, std::size_t top) {
  if (node.definition.loss_weight_size() > 0) {
    return node.definition.loss_weight(static_cast<int>(top));
  }
  return top == 0 ? node.layer->default_loss_weight() : 0;
}

void infer_node(Graph& graph, int index, bool first_time) {
  Node& node = graph.nodes[static_cast<std::size_t>(index)];
  std::vector<Shape> bottoms;
  for (const int bottom : node.bottoms) {
    bottoms.push_back(graph.values[static_cast<std::size_t>(bottom)].shape);
  }
  const Inference inference = node.layer->infer(bottoms);
  CREMA_ASSERT(inference.tops.size() == node.tops.size());
  node.multiply_adds = inference.multiply_adds;
  for (std::size_t i = 0; i < node.tops.size(); ++i) {
    Value& top = graph.values[static_cast<std::size_t>(node.tops[i])];
    top.shape = inference.tops[i];
    const auto reshaped = graph.reshaped.find(top.blob);
    if (node.layer->filled_by_caller() && reshaped != graph.reshaped.end()) {
      top.shape = reshaped->second;
    }
    top.loss_weight = loss_weight_of(node, i);
  }
  if (first_time && node.params.empty()) {
    declare_params(graph, index, inference.params);
  } else {
    check_params_unchanged(graph, node, inference.params);
  }
}

}  // namespace

void infer_after(Graph& graph, int node, const std::vector<Shape>& tops) {
  const Node& source = graph.nodes[static_cast<std::size_t>(node)];
  CREMA_ASSERT(tops.size() == source.tops.size());
  for (std::size_t i = 0; i < tops.size(); ++i) {
    graph.values[static_cast<std::size_t>(source.tops[i])].shape = tops[i];
  }
  for (std::size_t n = static_cast<std::size_t>(node) + 1; n < graph.nodes.size(); ++n) {
    const Node& next = graph.nodes[n];
    // What a fused layer gives has the shape of what the other took over from it.
    if (next.fused_away || next.bottoms.empty()) continue;
    with_context([&] { return next.where(); },
                 [&] { infer_node(graph, static_cast<int>(n), false); });
  }
}

void infer(Graph& graph) {
  const bool first_time = graph.params.empty();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    with_context([&] { return graph.nodes[n].where(); },
                 [&] { infer_node(graph, static_cast<int>(n), first_time); });
  }
}

}  // namespace crema
