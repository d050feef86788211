// MVN (1 bottom, 1 top): each channel of each item, or with across_channels each item, brought to
// mean 0 and with normalize_variance to variance 1. The bottom has at most 4 axes; the top has 4,
// those that the bottom lacks being 1.
//
//   y = (x - mean) / (sqrt(variance) + eps)
//   dx = (dy - mean of dy - y * mean of dy * y) / (sqrt(variance) + eps)
//
// Without normalize_variance the quotients and the third term are left out. The gradient is
// Caffe's, exact for eps 0.
#include <cmath>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {

/// Variance to 1 / (deviation + eps).
template <class Tag>
void mvn_inverse(const Device& device, std::int64_t groups, float eps, float* inverse) {
  parallel_for(Tag{}, device, groups, [=] CREMA_LOOP_BODY(std::int64_t i) {
    inverse[i] = 1 / (std::sqrt(inverse[i]) + eps);
  });
}

CREMA_CUDA_LOOP("mvn.inverse", &mvn_inverse<Cuda>)

}  // namespace loops
}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/layer.h"
#include "primitives/channel_ops.h"

namespace crema {
namespace {

class MvnOp final : public Op {
 public:
  /// What is brought to mean 0 together makes one channel of `axis`.
  MvnOp(const ChannelAxis& axis, bool variance, float eps)
      : axis_(axis), variance_(variance), eps_(eps) {
    // 1 / deviation, then mean.
    workspace_bytes_ = 2 * static_cast<std::size_t>(axis.channels) * sizeof(float);
    scratch_bytes_ = channel_scratch_bytes(axis);
  }

  void forward(const RunContext& run) override {
    if (axis_.count() == 0) return;
    const float* x = run.bottoms[0].read();
    float* inverse = static_cast<float*>(run.workspace);
    float* mean = inverse + axis_.channels;
    channel_moments(run.device, axis_, x, mean, variance_ ? inverse : nullptr, run.scratch);
    ChannelAffine map;
    map.shift = mean;
    if (variance_) {
      run_loop(run.device, "mvn.inverse", &loops::mvn_inverse<Cpu>, axis_.channels, eps_, inverse);
      map.gamma = inverse;
    }
    channel_affine(run.device, axis_, map, x, run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.zero_gradients();
      return;
    }
    const float* dy = run.top_gradients[0].read();
    float* dx = run.bottom_gradients[0].write();
    if (variance_) {
      normalized_gradient(run.device, axis_, run.tops[0].read(), dy,
                          static_cast<const float*>(run.workspace), dx, run.scratch);
    } else {
      centered_gradient(run.device, axis_, dy, dx, run.scratch);
    }
  }

 private:
  ChannelAxis axis_;
  bool variance_;
  float eps_;
};

class MvnLayer final : public Layer {
 public:
  explicit MvnLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(parameter().eps() >= 0, "mvn_param.eps is {}; it must be 0 or more", parameter().eps());
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    require(bottom.axes() <= 4, "the bottom must have at most 4 axes, not {} ({})", bottom.axes(),
            bottom.str());
    Inference inference;
    inference.tops = {{bottom.legacy(0), bottom.legacy(1), bottom.legacy(2), bottom.legacy(3)}};
    inference.multiply_adds = bottom.count();
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& top = request.tops[0];
    const int end = parameter().across_channels() ? 1 : 2;
    return std::make_unique<MvnOp>(ChannelAxis{1, top.count(0, end), top.count_from(end)},
                                   parameter().normalize_variance(), parameter().eps());
  }

  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return parameter().normalize_variance(); }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }

 private:
  const caffe::MVNParameter& parameter() const { return definition().mvn_param(); }
};

}  // namespace

std::unique_ptr<Layer> make_mvn(const caffe::LayerParameter& definition) {
  return std::make_unique<MvnLayer>(definition);
}

}  // namespace crema
#endif
