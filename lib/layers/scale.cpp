// Scale (1 bottom, or 2 with gamma as the second; 1 top): a factor for every channel or other part
// of a blob, and with bias_term a summand.
//
//   y = x * gamma + beta      dx = dy * gamma      dgamma = sum of dy * x      dbeta = sum of dy
//
// gamma spans `num_axes` axes of x from `axis` on (-1: all; 0: it is one value), or has the shape
// of bottom 1; it is the same along the axes before and after, over which the sums run. beta has
// gamma's shape. Parameters: gamma unless it is a bottom, then beta.
#include "layers/channel_bottom.h"
#include "primitives/channel_ops.h"

namespace crema {
namespace {

class ScaleOp final : public Op {
 public:
  ScaleOp(const PlanRequest& request, const ChannelAxis& axis, bool bias)
      : axis_(axis), bias_(bias) {
    if (request.any_gradient()) scratch_bytes_ = channel_scratch_bytes(axis);
  }

  void forward(const RunContext& run) override {
    ChannelAffine map;
    map.gamma = gamma(run).read();
    if (bias_) map.beta = run.params.back().read();
    channel_affine(run.device, axis_, map, run.bottoms[0].read(), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.zero_gradients();
      return;
    }
    const float* dy = run.top_gradients[0].read();
    AffineGradients gradients;
    const bool given = run.bottoms.size() > 1;
    const Tensor& gamma_gradient = given ? run.bottom_gradients[1] : run.param_gradients[0];
    if (gamma_gradient) {
      gradients.gamma = gamma_gradient.update();
      gradients.gamma_accumulates = !given && run.accumulate[0] != 0;
    }
    if (bias_ && run.param_gradients.back()) {
      gradients.beta = run.param_gradients.back().update();
      gradients.beta_accumulates = run.accumulate.back() != 0;
    }
    channel_affine_gradients(run.device, axis_, run.bottoms[0].read(), dy, gradients, run.scratch);
    if (run.bottom_gradients[0]) {
      ChannelAffine map;
      map.gamma = gamma(run).read();
      channel_affine(run.device, axis_, map, dy, run.bottom_gradients[0].write());
    }
  }

 private:
  static const Tensor& gamma(const RunContext& run) {
    return run.bottoms.size() > 1 ? run.bottoms[1] : run.params[0];
  }

  ChannelAxis axis_;
  bool bias_;
};

class ScaleLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape gamma = spanned(bottoms).array;
    Inference inference;
    inference.tops = {bottoms[0]};
    if (bottoms.size() == 1) {
      inference.params.push_back(
          param_def(gamma, filler_or(parameter().has_filler(), parameter().filler(), 1),
                    "scale_param.filler"));
    }
    if (parameter().bias_term()) {
      inference.params.push_back(
          param_def(gamma, filler_or(parameter().has_bias_filler(), parameter().bias_filler(), 0),
                    "scale_param.bias_filler"));
    }
    inference.multiply_adds = bottoms[0].count();
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return spanned(request.bottoms).layouts(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const ChannelAxis axis =
        spanned(request.bottoms).in(request.bottoms[0], request.bottom_layouts[0]);
    return std::make_unique<ScaleOp>(request, axis, parameter().bias_term());
  }

  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }

 private:
  const caffe::ScaleParameter& parameter() const { return definition().scale_param(); }

  SpannedAxes spanned(const std::vector<Shape>& bottoms) const {
    if (bottoms.size() > 1) {
      return SpannedAxes::given(bottoms[0], bottoms[1], parameter().axis(), "scale_param");
    }
    return SpannedAxes::learned(bottoms[0], parameter().axis(), parameter().num_axes(),
                                "scale_param");
  }
};

}  // namespace

std::unique_ptr<Layer> make_scale(const caffe::LayerParameter& definition) {
  return std::make_unique<ScaleLayer>(definition);
}

}  // namespace crema
