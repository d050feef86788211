// The engines are those of the convolution that a deconvolution transposes; only the bias, which
// lies on the other side, is added here.
#include "primitives/deconvolution.h"

#include <algorithm>
#include <utility>

#include "primitives/channel_ops.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

class TransposedConvolution final : public Convolution {
 public:
  TransposedConvolution(Device& device, const ConvolutionShape& shape, bool top_channels_last,
                        std::unique_ptr<Convolution> convolution)
      : device_(device),
        has_bias_(shape.bias),
        top_(top_axis(shape, top_channels_last)),
        convolution_(std::move(convolution)) {}

  void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias, const Tensor& top,
               void* scratch) override {
    convolution_->backward_bottom(bottom, weights, top, scratch);
    if (!has_bias_) return;
    ChannelAffine map;
    map.beta = bias.read();
    channel_affine(device_, top_, map, top.read(), top.update());
  }

  void backward_bottom(const Tensor& top_gradient, const Tensor& weights,
                       const Tensor& bottom_gradient, void* scratch) override {
    convolution_->forward(top_gradient, weights, Tensor(), bottom_gradient, scratch);
  }

  void backward_params(const Tensor& bottom, const Tensor& top_gradient,
                       const Tensor& weight_gradient, const Tensor& bias_gradient, bool accumulate,
                       bool accumulate_bias, void* scratch) override {
    if (weight_gradient) {
      convolution_->backward_params(top_gradient, bottom, weight_gradient, Tensor(), accumulate,
                                    false, scratch);
    }
    if (!bias_gradient) return;
    AffineGradients to;
    to.beta = bias_gradient.update();
    to.beta_accumulates = accumulate_bias;
    channel_affine_gradients(device_, top_, nullptr, top_gradient.read(), to, scratch);
  }

  std::size_t scratch_bytes() const override {
    return std::max(convolution_->scratch_bytes(), channel_scratch_bytes(top_));
  }
  std::string engine() const override { return convolution_->engine(); }

 private:
  /// Where the channels of a top lie.
  static ChannelAxis top_axis(const ConvolutionShape& shape, bool channels_last) {
    const std::int64_t positions = Shape(shape.out).count();
    return channels_last ? ChannelAxis{shape.batch * positions, shape.out_channels, 1}
                         : ChannelAxis{shape.batch, shape.out_channels, positions};
  }

  Device& device_;
  bool has_bias_;
  ChannelAxis top_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace

ConvolutionShape transpose_of(const ConvolutionShape& deconvolution) {
  ConvolutionShape convolution = deconvolution;
  std::swap(convolution.in_channels, convolution.out_channels);
  std::swap(convolution.in, convolution.out);
  convolution.bias = false;
  return convolution;
}

std::vector<ConvolutionLayouts> deconvolution_layouts(Device& device, const ConvolutionShape& shape,
                                                      bool /*bottom_gradient*/,
                                                      bool param_gradients) {
  // The convolution's forward is planned in any case, its gradient of the bottom is our forward.
  std::vector<ConvolutionLayouts> choices =
      convolution_layouts(device, transpose_of(shape), true, param_gradients);
  for (ConvolutionLayouts& choice : choices) {
    std::swap(choice.bottom, choice.top);
    choice.weights = choice.backward_weights;
  }
  return choices;
}

ConvolutionPlan plan_deconvolution(Device& device, const ConvolutionShape& shape,
                                   const Layout& bottom, const Layout& top, const Layout& weights,
                                   bool /*bottom_gradient*/, bool param_gradients) {
  ConvolutionPlan plan =
      plan_convolution(device, transpose_of(shape), top, bottom, weights, true, param_gradients);
  plan.convolution = std::make_unique<TransposedConvolution>(device, shape, is_channels_last(top),
                                                             std::move(plan.convolution));
  return plan;
}

}  // namespace crema
