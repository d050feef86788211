// PReLU (1 bottom N x C x any, 1 top; parameter a): ReLU with learned slopes for negative values.
//
//   y = max(x, 0) + a * min(x, 0)      dx = dy * (x > 0 ? 1 : a)      da = sum of dy * min(x, 0)
//
// a has a slope for each channel (C), or with channel_shared one for all (no axis). He et al., ICCV
// 2015.
#include "kernels/channel_sums.h"
#include "kernels/loop_registry.h"

namespace crema {
namespace loops {

template <class Tag>
void prelu_forward(const Device& device, ChannelAxis axis, const float* slopes, const float* x,
                   float* y) {
  for_each_in_channels(Tag{}, device, axis, [=] CREMA_LOOP_BODY(std::int64_t i, std::int64_t c) {
    const float value = x[i];
    // A product under a condition would not vectorise.
    y[i] = (value < 0 ? 0.0f : value) + slopes[c] * (value < 0 ? value : 0.0f);
  });
}

template <class Tag>
void prelu_backward(const Device& device, ChannelAxis axis, const float* slopes, const float* x,
                    const float* dy, float* dx) {
  for_each_in_channels(Tag{}, device, axis, [=] CREMA_LOOP_BODY(std::int64_t i, std::int64_t c) {
    dx[i] = dy[i] * (x[i] > 0 ? 1.0f : slopes[c]);
  });
}

/// dy * min(x, 0).
struct SlopeTerms {
  static constexpr const char* kName = "prelu.slopes";
  static constexpr int kSums = 1;
  template <int kSum, class D>
  CREMA_FUNCTOR static void add(const D& dy, const D& x, D& sum) {
    sum += dy * (x > 0 ? D{} : x);
  }
};

CREMA_CUDA_LOOP("prelu.forward", &prelu_forward<Cuda>)
CREMA_CUDA_LOOP("prelu.backward", &prelu_backward<Cuda>)
CREMA_CHANNEL_SUMS(SlopeTerms)

}  // namespace loops
}  // namespace crema

#ifndef __CUDACC__
#include "layers/channel_bottom.h"
#include "primitives/channel_ops.h"

namespace crema {
namespace {

class PreluOp final : public Op {
 public:
  PreluOp(const PlanRequest& request, const ChannelAxis& axis) : axis_(axis) {
    if (request.any_gradient()) scratch_bytes_ = channel_sums_bytes(axis, SlopeTerms::kSums);
  }

  void forward(const RunContext& run) override {
    run_loop(run.device, "prelu.forward", &loops::prelu_forward<Cpu>, axis_, run.params[0].read(),
             run.bottoms[0].read(), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.zero_gradients();
      return;
    }
    const float* x = run.bottoms[0].read();
    const float* dy = run.top_gradients[0].read();
    if (run.param_gradients[0]) {
      const double* const sums = channel_sums<SlopeTerms>(run.device, axis_, dy, x, run.scratch);
      store_channel_sums(run.device, axis_.channels, sums, run.accumulate[0] != 0,
                         run.param_gradients[0].update());
    }
    if (run.bottom_gradients[0]) {
      run_loop(run.device, "prelu.backward", &loops::prelu_backward<Cpu>, axis_,
               run.params[0].read(), x, dy, run.bottom_gradients[0].write());
    }
  }

 private:
  using SlopeTerms = loops::SlopeTerms;

  ChannelAxis axis_;
};

class PreluLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require(bottoms[0].axes() >= 2,
            "the bottom must have at least 2 axes (axis 1 holds the channels), not {} ({})",
            bottoms[0].axes(), bottoms[0].str());
    Inference inference;
    inference.tops = {bottoms[0]};
    inference.params = {param_def(parameter().channel_shared() ? Shape{} : Shape{bottoms[0][1]},
                                  filler_or(parameter().has_filler(), parameter().filler(), 0.25f),
                                  "prelu_param.filler")};
    inference.multiply_adds = bottoms[0].count();
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    return std::make_unique<PreluOp>(request, parameter().channel_shared()
                                                  ? ChannelAxis{1, 1, bottom.count()}
                                                  : channels_of(bottom, request.bottom_layouts[0]));
  }

  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }

 private:
  const caffe::PReLUParameter& parameter() const { return definition().prelu_param(); }
};

}  // namespace

std::unique_ptr<Layer> make_prelu(const caffe::LayerParameter& definition) {
  return std::make_unique<PreluLayer>(definition);
}

}  // namespace crema
#endif
