#include "net/debug_info.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <cmath>

#include "net/param_store.h"

namespace crema {
namespace {

struct Norms {
  double l1 = 0, squares = 0;
};

Norms norms(const Tensor& tensor) {
  Norms sums;
  for (const float x : read_plain(tensor)) {
    sums.l1 += std::abs(static_cast<double>(x));
    sums.squares += static_cast<double>(x) * static_cast<double>(x);
  }
  return sums;
}

/// Caffe divides by the count whatever it is: an empty blob shows as nan.
double mean_absolute(const Tensor& tensor) {
  return norms(tensor).l1 / static_cast<double>(tensor.shape().count());
}

std::string top_name(const Node& node, std::size_t top) {
  const auto& tops = node.definition.top();
  const auto index = static_cast<int>(top);
  return index < tops.size() ? tops[index] : "(automatic)";
}

/// A parameter's own name or its number.
std::string param_name(const Node& node, std::size_t param) {
  const auto index = static_cast<int>(param);
  const bool named =
      index < node.definition.param_size() && !node.definition.param(index).name().empty();
  return named ? node.definition.param(index).name() : std::to_string(param);
}

void log_line(const char* pass, const Node& node, const char* kind, const std::string& blob,
              const char* what, const Tensor& tensor) {
  LOG(INFO) << fmt::format("    [{}] Layer {}, {} blob {} {}: {:g}", pass, node.name(), kind, blob,
                           what, mean_absolute(tensor));
}

}  // namespace

void DebugInfo::after_forward(const Node& node, const RunContext& run) {
  for (std::size_t i = 0; i < run.tops.size(); ++i) {
    log_line("Forward", node, "top", top_name(node, i), "data", run.tops[i]);
  }
  for (std::size_t i = 0; i < run.params.size(); ++i) {
    log_line("Forward", node, "param", param_name(node, i), "data", run.params[i]);
  }
}

void DebugInfo::after_backward(const Node& node, const RunContext& run) {
  for (std::size_t i = 0; i < run.bottom_gradients.size(); ++i) {
    if (!run.bottom_gradients[i]) continue;
    log_line("Backward", node, "bottom", node.definition.bottom(static_cast<int>(i)), "diff",
             run.bottom_gradients[i]);
  }
  for (std::size_t i = 0; i < run.param_gradients.size(); ++i) {
    if (!run.param_gradients[i]) continue;
    log_line("Backward", node, "param", std::to_string(i), "diff", run.param_gradients[i]);
  }
}

void DebugInfo::after_all_backward() {
  net_.finish_gradients();
  Norms data, diff;
  for (const Parameter& parameter : net_.parameters()) {
    const Norms of_data = norms(parameter.data), of_diff = norms(parameter.gradient);
    data.l1 += of_data.l1;
    data.squares += of_data.squares;
    diff.l1 += of_diff.l1;
    diff.squares += of_diff.squares;
  }
  LOG(INFO) << fmt::format(
      "    [Backward] All net params (data, diff): L1 norm = ({:g}, {:g}); L2 norm = ({:g}, {:g})",
      data.l1, diff.l1, std::sqrt(data.squares), std::sqrt(diff.squares));
}

}  // namespace crema
