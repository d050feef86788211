// BatchNorm (1 bottom N x C x any, 1 top; parameters mean C, variance C, factor 1): every channel
// brought to mean 0 and variance 1. A Scale layer usually follows and learns what is best.
//
//   y = (x - mean) / sqrt(variance + eps)
//
// In training (use_global_stats: false, the default of the TRAIN phase) mean and biased variance
// are those of the batch, over all axes but 1, m values a channel. Each forward pass adds them to
// the parameters, which are sums to be divided by the factor; f is moving_average_fraction.
//
//   factor <- f * factor + 1      mean <- f * mean + batch mean
//   variance <- f * variance + batch variance * m / (m - 1)        (for m = 1 without the quotient)
//   dx = (dy - mean of dy - y * mean of dy * y) / sqrt(variance + eps)
//
// Else they are the parameters divided by the factor (0 where the factor is), and
// dx = dy / sqrt(variance + eps). The parameters have no gradient and their lr_mult is 0. Ioffe and
// Szegedy, ICML 2015.
#include <cmath>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {

/// Parameters to mean and 1 / deviation.
template <class Tag>
void batch_norm_stored(const Device& device, std::int64_t channels, const float* mean_sums,
                       const float* variance_sums, const float* factor, float eps, float* mean,
                       float* inverse) {
  parallel_for(Tag{}, device, channels, [=] CREMA_LOOP_BODY(std::int64_t c) {
    const float scale = factor[0] == 0 ? 0 : 1 / factor[0];
    mean[c] = mean_sums[c] * scale;
    inverse[c] = 1 / std::sqrt(variance_sums[c] * scale + eps);
  });
}

/// The batch's mean and variance into the parameters; `inverse` holds the variance and becomes
/// 1 / deviation.
template <class Tag>
void batch_norm_update(const Device& device, std::int64_t channels, float unbias, float fraction,
                       float eps, const float* mean, float* mean_sums, float* variance_sums,
                       float* factor, float* inverse) {
  parallel_for(Tag{}, device, channels, [=] CREMA_LOOP_BODY(std::int64_t c) {
    mean_sums[c] = fraction * mean_sums[c] + mean[c];
    variance_sums[c] = fraction * variance_sums[c] + unbias * inverse[c];
    inverse[c] = 1 / std::sqrt(inverse[c] + eps);
    if (c == 0) factor[0] = fraction * factor[0] + 1;
  });
}

CREMA_CUDA_LOOP("batch_norm.stored", &batch_norm_stored<Cuda>)
CREMA_CUDA_LOOP("batch_norm.update", &batch_norm_update<Cuda>)

}  // namespace loops
}  // namespace crema

#ifndef __CUDACC__
#include "layers/channel_bottom.h"
#include "primitives/channel_ops.h"

namespace crema {
namespace {

class BatchNormOp final : public Op {
 public:
  BatchNormOp(const ChannelAxis& axis, bool stored, float fraction, float eps)
      : axis_(axis), stored_(stored), fraction_(fraction), eps_(eps) {
    // 1 / deviation, then mean.
    workspace_bytes_ = 2 * static_cast<std::size_t>(axis.channels) * sizeof(float);
    scratch_bytes_ = channel_scratch_bytes(axis);
  }

  void forward(const RunContext& run) override {
    if (axis_.count() == 0) return;  // there are no statistics of nothing
    const float* x = run.bottoms[0].read();
    float* inverse = static_cast<float*>(run.workspace);
    float* mean = inverse + axis_.channels;
    if (stored_) {
      run_loop(run.device, "batch_norm.stored", &loops::batch_norm_stored<Cpu>, axis_.channels,
               run.params[0].read(), run.params[1].read(), run.params[2].read(), eps_, mean,
               inverse);
    } else {
      channel_moments(run.device, axis_, x, mean, inverse, run.scratch);
      const auto m = static_cast<float>(axis_.outer * axis_.inner);
      run_loop(run.device, "batch_norm.update", &loops::batch_norm_update<Cpu>, axis_.channels,
               m > 1 ? m / (m - 1) : 1.0f, fraction_, eps_, mean, run.params[0].update(),
               run.params[1].update(), run.params[2].update(), inverse);
    }
    ChannelAffine map;
    map.shift = mean;
    map.gamma = inverse;
    channel_affine(run.device, axis_, map, x, run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    for (std::size_t i = 0; i < run.param_gradients.size(); ++i) {
      if (run.param_gradients[i] && run.accumulate[i] == 0) run.param_gradients[i].fill_zero();
    }
    const Tensor& dx = run.bottom_gradients[0];
    if (!dx) return;
    if (!run.top_gradients[0]) {
      dx.fill_zero();
      return;
    }
    const float* dy = run.top_gradients[0].read();
    const float* inverse = static_cast<const float*>(run.workspace);
    if (stored_) {
      ChannelAffine map;
      map.gamma = inverse;
      channel_affine(run.device, axis_, map, dy, dx.write());
    } else {
      normalized_gradient(run.device, axis_, run.tops[0].read(), dy, inverse, dx.write(),
                          run.scratch);
    }
  }

 private:
  ChannelAxis axis_;
  bool stored_;
  float fraction_, eps_;
};

class BatchNormLayer final : public Layer {
 public:
  explicit BatchNormLayer(const caffe::LayerParameter& definition)
      : Layer(definition),
        stored_(parameter().has_use_global_stats() ? parameter().use_global_stats()
                                                   : definition.phase() == caffe::TEST) {
    require(parameter().eps() >= 0, "batch_norm_param.eps is {}; it must be 0 or more",
            parameter().eps());
    for (int i = 0; i < definition.param_size(); ++i) {
      require(definition.param(i).lr_mult() == 0 || !definition.param(i).has_lr_mult(),
              "param {} has lr_mult {}: the parameters of BatchNorm are statistics that forward "
              "passes gather, their lr_mult must be 0",
              i, definition.param(i).lr_mult());
    }
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require(bottoms[0].axes() >= 2,
            "the bottom must have at least 2 axes (axis 1 holds the channels), not {} ({})",
            bottoms[0].axes(), bottoms[0].str());
    Inference inference;
    inference.tops = {bottoms[0]};
    const caffe::FillerParameter zero = filler_or(false, {}, 0);
    const Shape channels = {bottoms[0][1]};
    inference.params = {{channels, zero}, {channels, zero}, {Shape{1}, zero}};
    inference.multiply_adds = bottoms[0].count();
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<BatchNormOp>(channels_of(request.bottoms[0], request.bottom_layouts[0]),
                                         stored_, parameter().moving_average_fraction(),
                                         parameter().eps());
  }

  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return !stored_; }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }
  float default_lr_mult() const override { return 0; }

 private:
  const caffe::BatchNormParameter& parameter() const { return definition().batch_norm_param(); }

  bool stored_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const caffe::LayerParameter& definition) {
  return std::make_unique<BatchNormLayer>(definition);
}

}  // namespace crema
#endif
