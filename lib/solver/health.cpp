#include "solver/health.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/batch_reader.h"
#include "kernels/finite.h"
#include "net/param_store.h"

namespace crema {
namespace {

class FirstNonFinite final : public NetObserver {
 public:
  void after_forward(const Node& node, const RunContext& run) override {
    for (std::size_t i = 0; i < run.tops.size() && found_.where.empty(); ++i) {
      if (all_finite(run.tops[i])) continue;
      const auto index = static_cast<int>(i);
      const std::string name =
          index < node.definition.top_size() ? node.definition.top(index) : std::to_string(i);
      found_.where = fmt::format("top \"{}\" of {}: {}", name, node.where(),
                                 describe(run.tops[i], node.bottoms.empty() ? &run : nullptr));
      found_.in_data = node.bottoms.empty();
    }
  }

  void after_backward(const Node& node, const RunContext& run) override {
    for (std::size_t i = 0; i < run.param_gradients.size(); ++i) {
      check(node, run.param_gradients[i], fmt::format("parameter {}", i));
    }
    for (std::size_t i = 0; i < run.bottom_gradients.size(); ++i) {
      const auto index = static_cast<int>(i);
      check(node, run.bottom_gradients[i],
            fmt::format("bottom \"{}\"", node.definition.bottom(index)));
    }
  }

  NonFinite found() const { return found_; }

 private:
  void check(const Node& node, const Tensor& gradient, const std::string& what) {
    if (!found_.where.empty() || !gradient || all_finite(gradient)) return;
    found_.where = fmt::format("the gradient of {} of {}: {}", what, node.where(),
                               describe(gradient, nullptr));
  }

  /// How many, and which record the first is in when `data` is what a data layer made.
  static std::string describe(const Tensor& tensor, const RunContext* data) {
    const std::vector<float> values = read_plain(tensor);
    const auto bad = [](float x) { return !std::isfinite(x); };
    const auto first = std::find_if(values.begin(), values.end(), bad);
    std::string text = fmt::format("{} of {} values",
                                   std::count_if(values.begin(), values.end(), bad), values.size());
    if (data == nullptr || first == values.end() || tensor.shape().axes() == 0) return text;
    const auto item = static_cast<int>((first - values.begin()) / tensor.shape().count_from(1));
    const std::string record = data->describe_item ? data->describe_item(item) : "";
    return text + fmt::format(", the first in item {}{}", item,
                              record.empty() ? "" : fmt::format(" ({})", record));
  }

  NonFinite found_;
};

}  // namespace

bool all_finite(const Tensor& tensor) {
  if (!tensor) return true;
  if (tensor.device().kind() == DeviceKind::kCpu) {
    return all_finite(tensor.device(), tensor.elements(), tensor.read());
  }
  const std::vector<float> values = read_plain(tensor);
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

bool parameters_finite(const Net& net) {
  return std::all_of(net.parameters().begin(), net.parameters().end(),
                     [](const Parameter& parameter) { return all_finite(parameter.data); });
}

std::string non_finite_blob(const StoredWeights& weights, const Net* net) {
  const auto wanted = [&](const StoredLayer& layer) {
    return net == nullptr || std::ranges::any_of(net->graph().nodes, [&](const Node& node) {
             return node.name() == layer.name;
           });
  };
  for (const StoredLayer& layer : weights.layers) {
    if (!wanted(layer)) continue;
    for (std::size_t i = 0; i < layer.blobs.size(); ++i) {
      const std::vector<float>& data = layer.blobs[i].data;
      const auto bad =
          std::count_if(data.begin(), data.end(), [](float x) { return !std::isfinite(x); });
      if (bad == 0) continue;
      return fmt::format("layer \"{}\", blob {}: {} of {} values are NaN or infinite", layer.name,
                         i, bad, data.size());
    }
  }
  return "";
}

bool gradients_finite(const Net& net) {
  return std::all_of(net.parameters().begin(), net.parameters().end(),
                     [](const Parameter& parameter) { return all_finite(parameter.gradient); });
}

PassMark::PassMark(Net& net) : net_(net) {
  for (const auto& [layer, reader] : net.readers()) readers_.push_back(reader);
  positions_.resize(readers_.size());
}

void PassMark::set() {
  passes_ = net_.passes();
  for (std::size_t i = 0; i < readers_.size(); ++i) positions_[i] = readers_[i]->position();
}

void PassMark::rewind() const {
  net_.set_passes(passes_);
  for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i]->seek(positions_[i]);
}

std::string advice(const NonFinite& first, int iteration, float base_lr) {
  if (first.in_data) return "The data itself is not clean: mend or remove that record";
  if (iteration == 0) {
    return "No update has been made yet, so the learning rate is not the cause: look at the "
           "layer's input (transform_param.scale, the Log or root of a negative number), its "
           "fields and the parameters that it starts from (fillers, weights)";
  }
  return fmt::format(
      "Most often the learning rate is too high (base_lr is {:g}; try a tenth, warmup_iter or "
      "clip_gradients) or the data is not scaled (transform_param.scale)",
      base_lr);
}

NonFinite find_non_finite(Net& net, const PassMark& mark, int passes) {
  NonFinite found;
  for (const Parameter& parameter : net.parameters()) {
    if (all_finite(parameter.data)) continue;
    found.where = fmt::format("parameter {} of layer \"{}\"", parameter.index, parameter.layer);
    found.in_parameter = true;
    return found;
  }
  FirstNonFinite observer;
  mark.rewind();
  net.clear_gradients();
  net.observe(&observer);
  for (int i = 0; i < passes; ++i) {
    net.forward();
    net.backward();
  }
  net.observe(nullptr);
  net.finish_gradients();
  return observer.found();
}

}  // namespace crema
