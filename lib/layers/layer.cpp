// What a layer or op does unless its type says otherwise. The defaults are the safe ones: plain
// tensors, and bottoms that backward may read and nobody may overwrite.
#include "layers/layer.h"

#include <algorithm>

#include "base/error.h"
#include "proto/text.h"

namespace crema {

void RunContext::zero_gradients() const {
  for (const Tensor& gradient : bottom_gradients) {
    if (gradient) gradient.fill_zero();
  }
  for (std::size_t i = 0; i < param_gradients.size(); ++i) {
    if (param_gradients[i] && accumulate[i] == 0) param_gradients[i].fill_zero();
  }
}

void Op::backward(const RunContext&) { CREMA_ASSERT(!"backward of a layer that has none"); }

bool PlanRequest::any_gradient() const {
  const auto wanted = [](char flag) { return flag != 0; };
  return std::any_of(bottom_gradients.begin(), bottom_gradients.end(), wanted) ||
         std::any_of(param_gradients.begin(), param_gradients.end(), wanted);
}

std::string Layer::position(const std::string& field) const {
  return position_of(definition_, field);
}

std::vector<LayoutChoice> Layer::layouts(const LayoutRequest& request) const {
  LayoutChoice plain;
  plain.bottoms.resize(request.bottoms.size());
  plain.tops.resize(request.tops.size());
  plain.params.resize(request.params.size());
  return {plain};
}

std::vector<Shape> Layer::actual_tops(const std::vector<Tensor>&) const {
  CREMA_ASSERT(!"a layer whose tops depend on data does not say what they are");
  return {};
}

bool Layer::backward_reads_bottom(int) const { return true; }
bool Layer::backward_reads_top(int) const { return false; }

}  // namespace crema
