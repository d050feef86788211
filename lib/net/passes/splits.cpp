// A blob that is used n times gets a Split layer, whose backward sums the n gradients.
#include "base/error.h"
#include "base/text.h"
#include "net/passes/passes.h"

namespace crema {
namespace {

struct Source {
  int layer = 0, top = 0;
  auto operator<=>(const Source&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

struct Uses {
  int count = 0;
  float loss_weight = 0;
};

[[noreturn]] void fail_unknown_bottom(const std::string& bottom, const FilteredNet& filtered,
                                      const std::map<std::string, Source>& latest, int layer) {
  const auto removed = filtered.removed.find(bottom);
  if (removed != filtered.removed.end()) {
    fail("bottom \"{}\" is not there: {}", bottom, removed->second);
  }
  for (int later = layer; later < filtered.net.layer_size(); ++later) {
    for (const std::string& top : filtered.net.layer(later).top()) {
      if (top == bottom) {
        fail(
            "bottom \"{}\" is produced only later, by layer \"{}\"; layers run in the order of the "
            "file",
            bottom, filtered.net.layer(later).name());
      }
    }
  }
  std::vector<std::string> known;
  known.reserve(latest.size());
  for (const auto& [blob, source] : latest) known.push_back(blob);
  fail("bottom \"{}\" is not produced by an earlier layer{}", bottom, did_you_mean(bottom, known));
}

std::string split_name(const std::string& blob, const std::string& layer, int top) {
  return fmt::format("{}_{}_{}_split", blob, layer, top);
}

}  // namespace

caffe::NetParameter insert_splits(const FilteredNet& filtered) {
  const caffe::NetParameter& net = filtered.net;
  std::map<std::string, Source> latest;
  std::map<Source, Source> source_of_bottom;  // (layer, bottom) to (layer, top)
  std::map<Source, Uses> uses;
  for (int i = 0; i < net.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.layer(i);
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const auto found = latest.find(layer.bottom(j));
      if (found == latest.end()) {
        with_context([&] { return describe_layer(layer); },
                     [&] { fail_unknown_bottom(layer.bottom(j), filtered, latest, i); });
      }
      source_of_bottom[{i, j}] = found->second;
      ++uses[found->second].count;
    }
    for (int j = 0; j < layer.top_size(); ++j) {
      latest[layer.top(j)] = {i, j};
      // Only a weight in the text counts as a use, not the one that losses have by default.
      const float weight = j < layer.loss_weight_size() ? layer.loss_weight(j) : 0;
      if (weight != 0) {
        Uses& use = uses[{i, j}];
        ++use.count;
        use.loss_weight = weight;
      }
    }
  }

  caffe::NetParameter result = net;
  result.clear_layer();
  std::map<Source, int> next_split_top;
  for (int i = 0; i < net.layer_size(); ++i) {
    const caffe::LayerParameter& original = net.layer(i);
    caffe::LayerParameter* layer = result.add_layer();
    *layer = original;
    for (int j = 0; j < original.bottom_size(); ++j) {
      const Source source = source_of_bottom[{i, j}];
      if (uses[source].count <= 1) continue;
      const caffe::LayerParameter& producer = net.layer(source.layer);
      layer->set_bottom(
          j, fmt::format("{}_{}", split_name(original.bottom(j), producer.name(), source.top),
                         next_split_top[source]++));
    }
    for (int j = 0; j < original.top_size(); ++j) {
      const Uses use = uses[{i, j}];
      if (use.count <= 1) continue;
      const std::string name = split_name(original.top(j), original.name(), j);
      caffe::LayerParameter* split = result.add_layer();
      split->set_name(name);
      split->set_type("Split");
      split->set_phase(original.phase());
      *split->mutable_crema_source() = original.crema_source();
      split->add_bottom(original.top(j));
      for (int k = 0; k < use.count; ++k) split->add_top(fmt::format("{}_{}", name, k));
      if (use.loss_weight != 0) {
        // The weight moves to the split's first top, which nobody consumes. (Caffe drops the
        // producer's whole list.)
        layer->clear_loss_weight();
        split->add_loss_weight(use.loss_weight);
        for (int k = 1; k < use.count; ++k) split->add_loss_weight(0);
        next_split_top[{i, j}] = 1;
      }
    }
  }
  return result;
}

}  // namespace crema
