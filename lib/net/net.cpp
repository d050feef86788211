#include "net/net.h"

#include <glog/logging.h>

#include <algorithm>
#include <list>

#include "base/error.h"
#include "base/text.h"
#include "data/batch_reader.h"
#include "net/compile.h"
#include "net/executor.h"
#include "net/weight_fit.h"
#include "proto/blobs.h"

namespace crema {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Plans kept, the one in use among them: nets whose images change size come back to the same few.
constexpr std::size_t kCachedPlans = 8;

/// Tells apart the shapes that a plan depends on: those of tops that depend on no bottom.
std::string source_shapes(const Graph& graph) {
  std::string key;
  for (const Node& node : graph.nodes) {
    if (!node.bottoms.empty()) continue;
    for (const int top : node.tops) key += graph.values[at(top)].shape.str() + ";";
  }
  return key;
}

/// For errors: which blob takes the most memory, or "".
std::string largest_top(const Graph& graph) {
  const auto floats = [](const Value& value) { return value.layout.elements(value.shape); };
  const auto largest = std::ranges::max_element(graph.values, {}, floats);
  if (largest == graph.values.end()) return "";
  return fmt::format("{}: its top \"{}\" ({}, {}) is the largest of the net",
                     graph.nodes[at(largest->producer)].where(), largest->blob,
                     largest->shape.str(),
                     human_bytes(static_cast<double>(floats(*largest)) * sizeof(float)));
}

}  // namespace

struct Net::Impl {
  Impl(const caffe::NetParameter& definition, Device& the_device, const NetOptions& the_options)
      : device(the_device), options(the_options) {
    built = build_graph(definition, options.state, options.seed, {}, options.reading);
    for (const std::string& blob : options.keep) {
      require(built.blobs.contains(blob), "the net has no blob \"{}\"{}", blob,
              did_you_mean(blob, blob_names()));
      built.values[at(built.blobs.at(blob))].keep = true;
    }
    if (options.keep_all) {
      for (const auto& [blob, value] : built.blobs) built.values[at(value)].keep = true;
    }
    replan(built);
    check_skipping();
    for (const int output : built.outputs) output_names.push_back(built.values[at(output)].blob);
    std::sort(output_names.begin(), output_names.end());
  }

  /// Passes from infer on; a plan for shapes that were met before is taken up again. `next` becomes
  /// what is built; on an error all stays as it was.
  void replan(Graph next) {
    infer(next);
    const std::string key = source_shapes(next);
    const auto known = std::find_if(plans.begin(), plans.end(),
                                    [&](const auto& plan) { return plan.first == key; });
    std::unique_ptr<Executor> made;
    if (known == plans.end()) {
      Graph graph = next;
      plan_graph(graph, device, options.backward, param_layouts(graph), !options.separate_layers);
      if (!store) make_params(graph);
      made =
          std::make_unique<Executor>(std::move(graph), device, *store,
                                     ExecutorOptions{options.backward, options.expose_gradients});
    }
    Executor& wanted = made ? *made : *known->second;
    const Executor* former = plans.empty() ? nullptr : &executor();
    with_context([&] { return largest_top(wanted.graph()); },
                 [&] { reserve(wanted.memory().arena_bytes); });
    if (made) {
      plans.emplace_front(key, std::move(made));
      if (plans.size() > kCachedPlans) plans.pop_back();
    } else {
      plans.splice(plans.begin(), plans, known);
    }
    built = std::move(next);
    wanted.bind(arena.floats());
    if (former != nullptr && former != &wanted) keep_inputs(*former, wanted);
  }

  /// Records of several data layers belong together: one without its fellows would shift all that
  /// follow in its batch.
  void check_skipping() const {
    std::vector<std::string> names;
    for (const Node& node : built.nodes) {
      if (node.layer->reader() != nullptr) names.push_back(fmt::format("\"{}\"", node.name()));
    }
    require(!options.reading.skip_bad_records || names.size() < 2,
            "the net has {} data layers ({}), whose records belong together: bad ones cannot be "
            "left out (--skip_bad_records)",
            names.size(), fmt::join(names, ", "));
  }

  /// Plans for the shapes of the batches that come next, and sees to it that there are any.
  void follow_inputs() {
    for (const Node& node : built.nodes) {
      if (BatchReader* reader = node.layer->reader()) {
        shapes_changed |= reader->follow_shapes();
        while (reader->items() == 0) {
          reader->pass_over();
          shapes_changed |= reader->follow_shapes();
        }
      }
      if (node.layer->must_be_filled()) check_filled(node);
    }
    if (!shapes_changed) return;
    with_context(
        [&] {
          return "for the next batch, whose images have another size" + begin_of_next_batches();
        },
        [&] { replan(built); });
    shapes_changed = false;
  }

  /// ` (it begins with record "x" of y)`, as far as it can be told. For errors: it reads the batch.
  std::string begin_of_next_batches() const {
    std::vector<std::string> records;
    for (const Node& node : built.nodes) {
      BatchReader* const reader = node.layer->reader();
      if (reader == nullptr) continue;
      try {
        std::vector<std::vector<float>> values;
        std::vector<float*> tops;
        for (const Shape& shape : reader->shapes(reader->items())) {
          tops.push_back(values.emplace_back(at(shape.count())).data());
        }
        const std::uint64_t position = reader->position();
        reader->read(tops);
        records.push_back(reader->describe(0));
        reader->seek(position);
      } catch (const std::exception&) {  // What is wrong with the plan is what counts.
        return "";
      }
    }
    return fmt::format(" (it begins with {})", fmt::join(records, " and "));
  }

  void check_filled(const Node& node) const {
    for (const int top : node.tops) {
      const Value& value = built.values[at(top)];
      const auto found = filled.find(value.blob);
      if (found != filled.end() && found->second == value.shape) continue;
      fail(
          "{}: top \"{}\" holds nothing: the program that runs the net has to write its values "
          "(Net::write_blob); for a net that reads by itself use another data layer",
          node.where(), value.blob);
    }
  }

  void reserve(std::size_t bytes) {
    // Never none at all, so that empty blobs lie somewhere too.
    bytes = std::max<std::size_t>(bytes, 64);
    const std::size_t before = arena.bytes();
    if (before >= bytes) return;
    arena = Buffer();  // first, so that both are never there at once
    try {
      arena = Buffer(device, bytes);
    } catch (...) {
      if (before > 0) {
        arena = Buffer(device, before);
        executor().bind(arena.floats());
      }
      throw;
    }
  }

  /// What the user wrote into inputs whose shape is the same stays.
  void keep_inputs(const Executor& from, const Executor& to) const {
    for (const Node& node : built.nodes) {
      if (!node.layer->tops_persist()) continue;
      for (const int top : node.tops) {
        if (from.data(top).shape() == to.data(top).shape()) from.data(top).copy_to(to.data(top));
      }
    }
  }

  /// What is decided already: once there are parameters, their layouts stay.
  std::map<int, Layout> param_layouts(const Graph& graph) {
    std::map<int, Layout> fixed;
    if (store) {
      for (std::size_t i = 0; i < graph.params.size(); ++i) {
        fixed[static_cast<int>(i)] = store->data(static_cast<int>(i)).layout();
      }
    } else if (options.share_with != nullptr) {
      find_borrowed(graph);
      for (const auto& [param, tensor] : borrowed) fixed[param] = tensor.layout();
    }
    return fixed;
  }

  void find_borrowed(const Graph& graph) {
    const Impl& other = *options.share_with->impl_;
    for (const Node& node : graph.nodes) {
      const Node* source = other.find_node(node.name());
      if (source == nullptr || node.params.empty()) continue;
      with_context(
          [&] { return node.where(); },
          [&] {
            require(source->params.size() == node.params.size(),
                    "has {} parameters, but {} in the net that it shares them with",
                    node.params.size(), source->params.size());
            for (std::size_t i = 0; i < node.params.size(); ++i) {
              const Tensor& tensor = other.store->data(source->params[i]);
              const Shape& shape = graph.params[at(node.params[i])].shape;
              require(tensor.shape() == shape,
                      "its parameter {} has shape {}, but {} in the net that it shares it with", i,
                      shape.str(), tensor.shape().str());
              borrowed.emplace(node.params[i], tensor);
            }
          });
    }
  }

  void make_params(const Graph& graph) {
    store = std::make_unique<ParamStore>(graph, device, options.backward, options.seed, borrowed);
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      const ParamNode& node = graph.params[i];
      Parameter parameter;
      parameter.layer = graph.nodes[at(node.owner)].name();
      parameter.index = node.index;
      parameter.shape = node.shape;
      parameter.lr_mult = node.lr_mult;
      parameter.decay_mult = node.decay_mult;
      parameter.data = store->data(static_cast<int>(i));
      parameter.gradient = store->gradient(static_cast<int>(i));
      parameters.push_back(std::move(parameter));
    }
  }

  Executor& executor() { return *plans.front().second; }
  const Executor& executor() const { return *plans.front().second; }
  const Graph& graph() const { return executor().graph(); }

  /// The layer of this name; of several the one after `skip` others, or the last.
  const Node* find_node(const std::string& layer, int skip = 0) const {
    const Node* found = nullptr;
    for (const Node& node : built.nodes) {
      if (node.name() != layer) continue;
      found = &node;
      if (skip-- == 0) break;
    }
    return found;
  }

  const Node& node_named(const std::string& layer) const {
    const Node* node = find_node(layer);
    std::vector<std::string> names;
    for (const Node& candidate : built.nodes) names.push_back(candidate.name());
    require(node != nullptr, "the net has no layer \"{}\"{}", layer, did_you_mean(layer, names));
    return *node;
  }

  int param_named(const std::string& layer, int index) const {
    const Node& node = node_named(layer);
    require(index >= 0 && at(index) < node.params.size(), "layer \"{}\" has {}, none {}", layer,
            counted(static_cast<long long>(node.params.size()), "parameter"), index);
    return node.params[at(index)];
  }

  std::vector<std::string> blob_names() const {
    std::vector<std::string> names;
    for (const auto& [blob, value] : built.blobs) names.push_back(blob);
    return names;
  }

  int value_named(const std::string& blob) const {
    const auto found = built.blobs.find(blob);
    require(found != built.blobs.end(), "the net has no blob \"{}\"{}", blob,
            did_you_mean(blob, blob_names()));
    return found->second;
  }

  const Tensor& gradient_named(const std::string& blob) const {
    const Tensor& gradient = executor().gradient(value_named(blob));
    require(options.expose_gradients && gradient, "blob \"{}\" has no gradient here", blob);
    return gradient;
  }

  Device& device;
  NetOptions options;
  Graph built;
  std::map<int, Tensor> borrowed;
  std::unique_ptr<ParamStore> store;
  std::vector<Parameter> parameters;
  std::list<std::pair<std::string, std::unique_ptr<Executor>>> plans;  // the one in use first
  Buffer arena;
  std::vector<std::string> output_names;
  std::map<std::string, int> own_batch;  // of data layers, before set_batch
  std::map<std::string, Shape> filled;   // inputs that were written, in which shape
  bool shapes_changed = false;           // since the plan in use was made
  std::uint64_t passes = 0;
  NetObserver* observer = nullptr;
};

Net::Net(const caffe::NetParameter& definition, Device& device, const NetOptions& options)
    : impl_(std::make_unique<Impl>(definition, device, options)) {}
Net::~Net() = default;

float Net::forward() {
  impl_->follow_inputs();
  return impl_->executor().forward(impl_->passes++, impl_->observer);
}

void Net::backward() {
  CREMA_ASSERT(impl_->passes > 0);
  impl_->executor().backward(impl_->passes - 1, impl_->observer);
}

void Net::observe(NetObserver* observer) { impl_->observer = observer; }

void Net::clear_gradients() { impl_->store->clear_gradients(); }
void Net::finish_gradients() { impl_->store->finish_gradients(); }

const std::string& Net::name() const { return impl_->built.name; }
const Graph& Net::graph() const { return impl_->graph(); }
const Executor& Net::executor() const { return impl_->executor(); }
Device& Net::device() const { return impl_->device; }
const std::vector<std::string>& Net::outputs() const { return impl_->output_names; }

float Net::loss_weight(const std::string& blob) const {
  return impl_->built.values[at(impl_->value_named(blob))].loss_weight;
}

std::vector<std::string> Net::inputs() const {
  std::vector<std::string> names;
  for (const Node& node : impl_->built.nodes) {
    if (!node.layer->filled_by_caller()) continue;
    for (const int top : node.tops) names.push_back(impl_->built.values[at(top)].blob);
  }
  return names;
}

bool Net::has_blob(const std::string& blob) const { return impl_->built.blobs.contains(blob); }

Shape Net::shape(const std::string& blob) const {
  // As of the last pass, where tops depend on data.
  return impl_->graph().values[at(impl_->value_named(blob))].shape;
}

std::vector<float> Net::read_blob(const std::string& blob) const {
  const int value = impl_->value_named(blob);
  const bool readable =
      impl_->built.values[at(value)].keep || impl_->executor().memory().persistent[at(value)] >= 0;
  require(readable, "blob \"{}\" was not kept; its memory serves others", blob);
  return read_plain(impl_->executor().data(value));
}

std::vector<double> Net::mean_over(const std::string& blob) const {
  const Graph& graph = impl_->graph();
  // Back through layers that hand their bottom on.
  for (int value = impl_->value_named(blob);;) {
    const Value& made = graph.values[at(value)];
    if (made.producer < 0) return {};
    const Node& node = graph.nodes[at(made.producer)];
    if (!node.bottoms.empty() && (node.is_reorder || node.layer->is_view(made.producer_top))) {
      value = node.bottoms[0];
      continue;
    }
    const std::unique_ptr<Op>& op = impl_->executor().ops()[at(made.producer)];
    return op ? op->mean_over(made.producer_top) : std::vector<double>();
  }
}

void Net::write_blob(const std::string& blob, const std::vector<float>& values) {
  // The input itself, not what an in-place layer makes of it under the same name.
  for (const Node& node : impl_->built.nodes) {
    if (!node.layer->filled_by_caller()) continue;
    for (const int top : node.tops) {
      const Value& value = impl_->built.values[at(top)];
      if (value.blob != blob) continue;
      require(static_cast<std::int64_t>(values.size()) == value.shape.count(),
              "input \"{}\" has shape {}, so it takes {}, not {}", blob, value.shape.str(),
              counted(value.shape.count(), "value"), values.size());
      write_plain(impl_->executor().data(top), values.data());
      impl_->filled[blob] = value.shape;
      return;
    }
  }
  fail("the net has no input \"{}\"{}", blob, did_you_mean(blob, inputs()));
}

std::vector<float> Net::read_gradient(const std::string& blob) const {
  return read_plain(impl_->gradient_named(blob));
}

void Net::write_gradient(const std::string& blob, const std::vector<float>& values) {
  const Tensor& gradient = impl_->gradient_named(blob);
  CREMA_ASSERT(static_cast<std::int64_t>(values.size()) == gradient.shape().count());
  write_plain(gradient, values.data());
  impl_->executor().mark_external_gradient(impl_->value_named(blob));
}

void Net::reshape(const std::map<std::string, Shape>& inputs) {
  Graph next = impl_->built;
  for (const auto& [input, shape] : inputs) {
    const std::vector<std::string> known = this->inputs();
    require(std::find(known.begin(), known.end(), input) != known.end(),
            "the net has no input \"{}\"{}", input, did_you_mean(input, known));
    next.reshaped[input] = shape;
  }
  impl_->replan(std::move(next));
}

void Net::set_batch(int records) {
  std::vector<std::pair<BatchReader*, int>> former;
  for (const auto& [layer, reader] : readers()) {
    const int own = impl_->own_batch.try_emplace(layer, reader->batch_size()).first->second;
    const int wanted = records > 0 ? records : own;
    if (reader->batch_size() == wanted) continue;
    former.emplace_back(reader, reader->batch_size());
    reader->set_batch_size(wanted);
  }
  if (former.empty()) return;
  try {
    impl_->replan(impl_->built);
  } catch (...) {
    for (const auto& [reader, batch] : former) reader->set_batch_size(batch);
    throw;
  }
}

std::vector<std::pair<std::string, BatchReader*>> Net::readers() const {
  std::vector<std::pair<std::string, BatchReader*>> found;
  for (const Node& node : impl_->built.nodes) {
    if (BatchReader* reader = node.layer->reader()) found.emplace_back(node.name(), reader);
  }
  return found;
}

std::vector<Parameter>& Net::parameters() { return impl_->parameters; }
const std::vector<Parameter>& Net::parameters() const { return impl_->parameters; }

std::vector<std::vector<float>> Net::read_params(const std::string& layer) const {
  std::vector<std::vector<float>> values;
  for (const int param : impl_->node_named(layer).params) {
    values.push_back(read_plain(impl_->store->data(param)));
  }
  return values;
}

void Net::write_param(const std::string& layer, int index, const std::vector<float>& values) {
  const Tensor& tensor = impl_->store->data(impl_->param_named(layer, index));
  require(static_cast<std::int64_t>(values.size()) == tensor.shape().count(),
          "parameter {} of layer \"{}\" has shape {}, so it takes {}, not {}", index, layer,
          tensor.shape().str(), counted(tensor.shape().count(), "value"), values.size());
  write_plain(tensor, values.data());
}

std::vector<float> Net::read_param_gradient(const std::string& layer, int index) const {
  const int param = impl_->param_named(layer, index);
  const Tensor& gradient = impl_->store->gradient(param);
  if (!gradient || !impl_->store->written(param)) {
    return std::vector<float>(at(impl_->built.params[at(param)].shape.count()));
  }
  return read_plain(gradient);
}

std::uint64_t Net::passes() const { return impl_->passes; }
void Net::set_passes(std::uint64_t passes) { impl_->passes = passes; }

MemorySummary Net::memory() const {
  const MemoryPlan& plan = impl_->executor().memory();
  MemorySummary summary;
  summary.activations = plan.arena_bytes;
  summary.without_sharing = plan.bytes_without_sharing;
  summary.params = param_bytes(impl_->graph());
  summary.param_gradients = impl_->store->gradient_bytes();
  return summary;
}

Net::LoadReport Net::load(const StoredWeights& weights) {
  // All is checked before anything is changed.
  std::vector<std::pair<const Node*, const StoredLayer*>> fitting;
  std::vector<std::string> misfits;
  LoadReport report;
  std::map<std::string, int> stored;
  for (const StoredLayer& layer : weights.layers) {
    // The k-th of a name in the file is for the k-th in the net, so that a net with equal names can
    // read its own snapshots; a surplus one for the last, as in Caffe.
    const Node* node = impl_->find_node(layer.name, stored[layer.name]++);
    if (node == nullptr) {
      if (!layer.blobs.empty()) report.skipped.push_back(layer.name);
      continue;
    }
    const std::string reason = misfit(impl_->built, *node, layer, weights.hdf5);
    if (!reason.empty()) misfits.push_back(fmt::format("layer \"{}\": {}", layer.name, reason));
    fitting.emplace_back(node, &layer);
    if (!node->params.empty()) report.copied.push_back(layer.name);
  }
  // All of them: who fine-tunes wants to know every layer to rename, not the first.
  require(misfits.empty(), "{}: {}", weights.file, fmt::join(misfits, "; "));
  for (const auto& [node, layer] : fitting) {
    for (std::size_t i = 0; i < layer->blobs.size(); ++i) {
      if (!layer->blobs[i].present) continue;
      write_plain(impl_->store->data(node->params[i]), layer->blobs[i].data.data());
    }
  }
  for (const Node& node : impl_->built.nodes) {
    if (!node.params.empty() && !stored.contains(node.name())) {
      report.missing.push_back(node.name());
    }
  }
  return report;
}

caffe::NetParameter Net::definition() const {
  caffe::NetParameter net;
  net.set_name(impl_->built.name);
  for (const Node& node : impl_->built.nodes) {
    caffe::LayerParameter* layer = net.add_layer();
    *layer = node.definition;
    layer->clear_crema_source();
    layer->clear_blobs();
    if (layer->loss_weight_size() == 0 && node.layer->default_loss_weight() != 0) {
      // Caffe writes the default weight of losses out.
      for (std::size_t top = 0; top < node.tops.size(); ++top) {
        layer->add_loss_weight(top == 0 ? node.layer->default_loss_weight() : 0);
      }
    }
  }
  return net;
}

caffe::NetParameter Net::to_proto(bool with_gradients, bool owned_only) const {
  caffe::NetParameter net = definition();
  int index = 0;
  for (const Node& node : impl_->built.nodes) {
    caffe::LayerParameter* layer = net.mutable_layer(index++);
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      const int param = node.params[i];
      caffe::BlobProto* blob = layer->add_blobs();
      const int owner = impl_->built.params[at(param)].owner;
      if (!owned_only || &impl_->built.nodes[at(owner)] == &node) {
        const Tensor& data = impl_->store->data(param);
        crema::to_proto(node.param_shapes[i], read_plain(data).data(), blob);
      } else if (with_gradients) {
        for (const std::int64_t dim : node.param_shapes[i].dims()) {
          blob->mutable_shape()->add_dim(dim);
        }
      }
      // Gradients stand in every layer, as Caffe has it.
      if (with_gradients && impl_->store->gradient(param)) {
        for (const float x : read_plain(impl_->store->gradient(param))) blob->add_diff(x);
      }
    }
  }
  return net;
}

}  // namespace crema
