// HingeLoss (2 bottoms: scores and labels; 1 top): each class against all others.
//
//   m = max(0, 1 + s*x), s = -1 for the score of the label and +1 for the others
//
//   loss = sum of m / N (norm L1, the default) or sum of m^2 / N (L2), N the size of axis 0
//
//   dx = L/N * s where m > 0, else 0 (L1), or 2*L/N * s*m (L2); L is the gradient of the loss
//
// Scores: N x (all else are classes). Labels: one an item, checked. Crammer and Singer 2001.
#include "layers/loss.h"

namespace crema {
namespace {

/// Written so that NaN stays NaN.
float hinge(float sign, float x) {
  const float margin = 1 + sign * x;
  return margin < 0 ? 0 : margin;
}

class HingeLossOp final : public Op {
 public:
  HingeLossOp(const Shape& scores, bool squared)
      : items_(scores[0]),
        classes_(scores.count_from(1)),
        divisor_(items_of(scores)),
        squared_(squared) {}

  void forward(const RunContext& run) override {
    const float* const x = run.bottoms[0].read();
    const Labels labels(run, classes_);
    double sum = 0;
    for (std::int64_t i = 0; i < items_; ++i) {
      const int label = labels.at(i);
      for (std::int64_t j = 0; j < classes_; ++j) {
        const double m = static_cast<double>(hinge(j == label ? -1 : 1, x[i * classes_ + j]));
        sum += squared_ ? m * m : m;
      }
    }
    run.tops[0].write()[0] = static_cast<float>(sum / divisor_);
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    const auto scale =
        static_cast<float>(static_cast<double>(run.top_gradients[0].read()[0]) / divisor_);
    const float* const x = run.bottoms[0].read();
    float* const dx = gradient.write();
    const Labels labels(run, classes_);
    for (std::int64_t i = 0; i < items_; ++i) {
      const int label = labels.at(i);
      for (std::int64_t j = 0; j < classes_; ++j) {
        const std::int64_t at = i * classes_ + j;
        const float sign = j == label ? -1 : 1;
        const float m = hinge(sign, x[at]);
        dx[at] = scale * sign * (squared_ ? 2 * m : static_cast<float>(m > 0));
      }
    }
  }

 private:
  std::int64_t items_, classes_;
  double divisor_;
  bool squared_;
};

class HingeLossLayer final : public LossLayer {
 public:
  using LossLayer::LossLayer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_item_labels(bottoms);
    Inference inference;
    inference.tops = {Shape{}};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<HingeLossOp>(
        request.bottoms[0],
        definition().hinge_loss_param().norm() == caffe::HingeLossParameter::L2);
  }
};

}  // namespace

std::unique_ptr<Layer> make_hinge_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<HingeLossLayer>(definition);
}

}  // namespace crema
