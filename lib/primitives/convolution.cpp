// Chooses the engine of a convolution, by layouts first: the layout pass weighs what each engine
// would take against the reorders that its layouts bring, then plans with what it chose.
#include "primitives/convolution.h"

#include <optional>

#include "base/error.h"
#include "primitives/convolution_loop.h"
#include "primitives/cpu/convolution.h"
#include "primitives/depthwise.h"

namespace crema {
namespace {

/// Rough speeds of one thread, in multiply-adds a second. Only their ratios matter.
constexpr double kFastSpeed = 60e9;
constexpr double kFastDepthwiseSpeed = 10e9;
constexpr double kLoopSpeed = 50e9;
constexpr double kLoopDepthwiseSpeed = 1.5e9;
/// Bytes a second that building the patches takes.
constexpr double kPatchSpeed = 5e9;

double seconds(const Device& device, const ConvolutionShape& shape, double dense,
               double depthwise) {
  return static_cast<double>(shape.multiply_adds()) / (is_depthwise(shape) ? depthwise : dense) /
         device.threads();
}

}  // namespace

std::vector<ConvolutionLayouts> convolution_layouts(Device& device, const ConvolutionShape& shape,
                                                    bool bottom_gradient, bool param_gradients) {
  std::vector<ConvolutionLayouts> choices;
  if (auto fast =
          cpu::onednn_convolution_layouts(device, shape, bottom_gradient, param_gradients)) {
    fast->cost = seconds(device, shape, kFastSpeed, kFastDepthwiseSpeed);
    choices.push_back(*fast);
  }
  ConvolutionLayouts plain;
  plain.cost = seconds(device, shape, kLoopSpeed, kLoopDepthwiseSpeed);
  if (!is_depthwise(shape)) {
    plain.cost += static_cast<double>(shape.batch * loop_columns(shape)) * sizeof(float) /
                  kPatchSpeed / device.threads();
  }
  choices.push_back(plain);
  return choices;
}

ConvolutionPlan plan_convolution(Device& device, const ConvolutionShape& shape,
                                 const Layout& bottom, const Layout& top, const Layout& weights,
                                 bool bottom_gradient, bool param_gradients) {
  ConvolutionPlan plan;
  std::string refusal;
  plan.convolution = cpu::make_onednn_convolution(device, shape, bottom, top, weights,
                                                  bottom_gradient, param_gradients, &refusal);
  if (plan.convolution) return plan;
  plan.refusals.push_back("onednn: " + refusal);
  // The layouts come from convolution_layouts(), so that this is never the user's fault.
  CREMA_ASSERT(bottom.is_plain() && top.is_plain());
  if (is_depthwise(shape) && weights.is_plain()) {
    plan.convolution = make_depthwise_convolution(device, shape);
  } else {
    plan.convolution = make_loop_convolution(device, shape, weights);
  }
  return plan;
}

}  // namespace crema
