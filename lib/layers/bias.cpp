// Bias (1 bottom, or 2 with beta as the second; 1 top): a summand for every channel or other part
// of a blob.
//
//   y = x + beta      dx = dy      dbeta = sum of dy
//
// beta spans `num_axes` axes of x from `axis` on (-1: all; 0: it is one value), or has the shape of
// bottom 1; it is the same along the axes before and after, over which the sum runs. Parameter:
// beta unless it is a bottom.
#include "layers/channel_bottom.h"
#include "primitives/channel_ops.h"

namespace crema {
namespace {

class BiasOp final : public Op {
 public:
  BiasOp(const PlanRequest& request, const ChannelAxis& axis) : axis_(axis) {
    if (request.any_gradient()) scratch_bytes_ = channel_scratch_bytes(axis);
  }

  void forward(const RunContext& run) override {
    ChannelAffine map;
    map.beta = (run.bottoms.size() > 1 ? run.bottoms[1] : run.params[0]).read();
    channel_affine(run.device, axis_, map, run.bottoms[0].read(), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.zero_gradients();
      return;
    }
    const Tensor& dy = run.top_gradients[0];
    const bool given = run.bottoms.size() > 1;
    const Tensor& beta_gradient = given ? run.bottom_gradients[1] : run.param_gradients[0];
    if (beta_gradient) {
      AffineGradients gradients;
      gradients.beta = beta_gradient.update();
      gradients.beta_accumulates = !given && run.accumulate[0] != 0;
      channel_affine_gradients(run.device, axis_, nullptr, dy.read(), gradients, run.scratch);
    }
    const Tensor& dx = run.bottom_gradients[0];
    if (dx && dx.read() != dy.read()) dy.copy_to(dx);
  }

 private:
  ChannelAxis axis_;
};

class BiasLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape beta = spanned(bottoms).array;
    Inference inference;
    inference.tops = {bottoms[0]};
    if (bottoms.size() == 1) {
      inference.params.push_back(param_def(
          beta, filler_or(parameter().has_filler(), parameter().filler(), 0), "bias_param.filler"));
    }
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return spanned(request.bottoms).layouts(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<BiasOp>(
        request, spanned(request.bottoms).in(request.bottoms[0], request.bottom_layouts[0]));
  }

  bool backward_reads_bottom(int) const override { return false; }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }

 private:
  const caffe::BiasParameter& parameter() const { return definition().bias_param(); }

  SpannedAxes spanned(const std::vector<Shape>& bottoms) const {
    if (bottoms.size() > 1) {
      return SpannedAxes::given(bottoms[0], bottoms[1], parameter().axis(), "bias_param");
    }
    return SpannedAxes::learned(bottoms[0], parameter().axis(), parameter().num_axes(),
                                "bias_param");
  }
};

}  // namespace

std::unique_ptr<Layer> make_bias(const caffe::LayerParameter& definition) {
  return std::make_unique<BiasLayer>(definition);
}

}  // namespace crema
