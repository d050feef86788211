// Include and exclude rules (Caffe: NetStateRule).
#include "base/error.h"
#include "net/passes/passes.h"
#include "proto/text.h"

namespace crema {
namespace {

bool contains(const google::protobuf::RepeatedPtrField<std::string>& stages,
              const std::string& stage) {
  for (const std::string& candidate : stages) {
    if (candidate == stage) return true;
  }
  return false;
}

/// "" when `state` meets the rule, else what is not met.
std::string unmet(const caffe::NetStateRule& rule, const caffe::NetState& state) {
  if (rule.has_phase() && rule.phase() != state.phase()) {
    return fmt::format("phase is {}, not {}", caffe::Phase_Name(state.phase()),
                       caffe::Phase_Name(rule.phase()));
  }
  if (rule.has_min_level() && state.level() < rule.min_level()) {
    return fmt::format("level {} is below min_level {}", state.level(), rule.min_level());
  }
  if (rule.has_max_level() && state.level() > rule.max_level()) {
    return fmt::format("level {} is above max_level {}", state.level(), rule.max_level());
  }
  for (const std::string& stage : rule.stage()) {
    if (!contains(state.stage(), stage)) return fmt::format("stage \"{}\" is not set", stage);
  }
  for (const std::string& stage : rule.not_stage()) {
    if (contains(state.stage(), stage)) return fmt::format("stage \"{}\" is set", stage);
  }
  return "";
}

/// "" when the layer stays, else why it goes.
std::string reason_to_drop(const caffe::LayerParameter& layer, const caffe::NetState& state) {
  require(layer.include_size() == 0 || layer.exclude_size() == 0,
          "a layer has either include or exclude rules, not both");
  for (const caffe::NetStateRule& rule : layer.exclude()) {
    if (unmet(rule, state).empty()) return "an exclude rule is met";
  }
  std::string reason;
  for (const caffe::NetStateRule& rule : layer.include()) {
    reason = unmet(rule, state);
    if (reason.empty()) return "";
  }
  return reason;
}

}  // namespace

FilteredNet filter(const caffe::NetParameter& net, const caffe::NetState& state) {
  FilteredNet filtered;
  filtered.net = net;
  filtered.net.clear_layer();
  for (const caffe::LayerParameter& layer : net.layer()) {
    const auto where = [&] { return describe_layer(layer); };
    const std::string reason = with_context(where, [&] { return reason_to_drop(layer, state); });
    if (reason.empty()) {
      caffe::LayerParameter* kept = filtered.net.add_layer();
      *kept = layer;
      if (!kept->has_phase()) kept->set_phase(state.phase());
    } else {
      for (const std::string& top : layer.top()) {
        filtered.removed[top] =
            fmt::format("layer \"{}\", which makes it, is left out: {}", layer.name(), reason);
      }
    }
  }
  return filtered;
}

}  // namespace crema
