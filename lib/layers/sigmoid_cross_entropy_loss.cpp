// SigmoidCrossEntropyLoss (2 bottoms: scores x and targets t in [0, 1] of equal count; 1 top).
//
//   loss = 1/Z * sum of -(t*log(s(x)) + (1-t)*log(1-s(x))), s the logistic function; computed as
//          max(x, 0) - x*t + log(1 + exp(-|x|)), which no score makes infinite
//
//   dx = L/Z * (s(x) - t), 0 where the target is ignored; L is the gradient of the loss
//
// Z by loss_param.normalization (FULL: all values, VALID: those that are not ignored, BATCH_SIZE:
// the items, the default, NONE: 1), at least 1. A target that is ignore_label once cut to an
// integer is ignored: 0.7 is, under ignore_label 0. The targets get no gradient.
#include <cmath>

#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/parallel_for.h"
#include "layers/loss.h"

namespace crema {
namespace {

/// The work of a logarithm and an exponential, in additions.
constexpr std::int64_t kCost = 40;

class SigmoidCrossEntropyLossOp final : public Op {
 public:
  SigmoidCrossEntropyLossOp(const Shape& scores, const caffe::LossParameter& loss)
      : count_(scores.count()),
        items_(scores[0]),
        mode_(normalization_mode(loss, caffe::LossParameter::BATCH_SIZE)),
        ignores_(loss.has_ignore_label()),
        ignored_(loss.ignore_label()) {
    scratch_bytes_ = static_cast<std::size_t>(count_) * sizeof(float);  // the terms of the sum
  }

  void forward(const RunContext& run) override {
    const float* const x = run.bottoms[0].read();
    const float* const t = run.bottoms[1].read();
    float* const term = static_cast<float*>(run.scratch);
    parallel_for(
        Cpu{}, run.device, count_,
        [=](std::int64_t i) {
          term[i] = (x[i] > 0 ? x[i] : 0) - x[i] * t[i] + std::log1p(std::exp(-std::abs(x[i])));
        },
        kCost);
    valid_ = count_;
    if (ignores_) {
      for (std::int64_t i = 0; i < count_; ++i) {
        if (!is_label(t[i], ignored_)) continue;
        term[i] = 0;
        --valid_;
      }
    }
    run.tops[0].write()[0] = static_cast<float>(sum(run.device, count_, term) / divisor());
  }

  std::vector<double> mean_over(int) const override {
    return normalized_over(mode_, items_, inner(), valid_);
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    const auto scale =
        static_cast<float>(static_cast<double>(run.top_gradients[0].read()[0]) / divisor());
    const float* const x = run.bottoms[0].read();
    const float* const t = run.bottoms[1].read();
    float* const dx = gradient.write();
    parallel_for(
        Cpu{}, run.device, count_,
        [=](std::int64_t i) { dx[i] = scale * (1 / (1 + std::exp(-x[i])) - t[i]); }, kCost);
    if (!ignores_) return;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (is_label(t[i], ignored_)) dx[i] = 0;
    }
  }

 private:
  std::int64_t inner() const { return items_ > 0 ? count_ / items_ : 0; }
  double divisor() const { return normalizer(mode_, items_, inner(), valid_); }

  std::int64_t count_, items_;
  NormalizationMode mode_;
  bool ignores_;
  int ignored_;
  std::int64_t valid_ = 0;  ///< targets of the last forward pass that were not ignored
};

class SigmoidCrossEntropyLossLayer final : public LossLayer {
 public:
  using LossLayer::LossLayer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_same_items(bottoms);
    require(bottoms[0].count() == bottoms[1].count(),
            "both bottoms must hold the same number of values: bottom 0 is {}, bottom 1 is {}",
            bottoms[0].str(), bottoms[1].str());
    Inference inference;
    inference.tops = {Shape{}};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SigmoidCrossEntropyLossOp>(request.bottoms[0],
                                                       definition().loss_param());
  }
};

}  // namespace

std::unique_ptr<Layer> make_sigmoid_cross_entropy_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<SigmoidCrossEntropyLossLayer>(definition);
}

}  // namespace crema
