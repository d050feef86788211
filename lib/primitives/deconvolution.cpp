// The engines are those of the convolution that a deconvolution transposes; only the bias, which
// lies on the other side, is added here.
#include "primitives/deconvolution.h"

#include <utility>

#include "kernels/blas.h"
#include "kernels/parallel_for.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

class TransposedConvolution final : public Convolution {
 public:
  TransposedConvolution(Device& device, ConvolutionShape shape, bool top_channels_last,
                        std::unique_ptr<Convolution> convolution)
      : device_(device),
        shape_(std::move(shape)),
        positions_(Shape(shape_.out).count()),
        top_channels_last_(top_channels_last),
        convolution_(std::move(convolution)) {}

  void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias, const Tensor& top,
               void* scratch) override {
    convolution_->backward_bottom(bottom, weights, top, scratch);
    if (shape_.bias) add_bias(bias.read(), top.update());
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
    if (top_channels_last_) {
      sum_rows(device_, shape_.batch * positions_, shape_.out_channels, top_gradient.read(),
               accumulate_bias, bias_gradient.update());
    } else {
      if (!accumulate_bias) bias_gradient.fill_zero();
      convolution_backward_params_loop<float>(device_, shape_, nullptr, top_gradient.read(),
                                              nullptr, bias_gradient.update(), nullptr);
    }
  }

  std::size_t scratch_bytes() const override { return convolution_->scratch_bytes(); }
  std::string engine() const override { return convolution_->engine(); }

 private:
  void add_bias(const float* bias, float* top) const {
    const std::int64_t channels = shape_.out_channels;
    if (top_channels_last_) {
      parallel_ranges(device_, shape_.batch * positions_, channels,
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          float* const y = top + row * channels;
                          for (std::int64_t o = 0; o < channels; ++o) y[o] += bias[o];
                        }
                      });
    } else {
      const std::int64_t positions = positions_;
      parallel_ranges(device_, shape_.batch * channels, positions,
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          const float b = bias[row % channels];
                          float* const y = top + row * positions;
                          for (std::int64_t i = 0; i < positions; ++i) y[i] += b;
                        }
                      });
    }
  }

  Device& device_;
  ConvolutionShape shape_;
  std::int64_t positions_;
  bool top_channels_last_;
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
