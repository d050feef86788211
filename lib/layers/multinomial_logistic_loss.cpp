// MultinomialLogisticLoss (2 bottoms: probabilities and labels; 1 top).
//
//   loss = -1/N * sum over items of log(max(x[label], 1e-20)), N the size of axis 0
//
//   dx[label] = -L / (N * max(x[label], 1e-20)), 0 elsewhere; L is the gradient of the loss
//
// Probabilities: N x (all else are classes). Labels: one an item, checked. Scores that softmax
// makes probabilities of are better given to SoftmaxWithLoss, whose gradient is bounded.
#include <cmath>

#include "layers/loss.h"

namespace crema {
namespace {

/// Written so that NaN stays NaN.
float bounded(float probability) { return probability < 1e-20f ? 1e-20f : probability; }

class MultinomialLogisticLossOp final : public Op {
 public:
  explicit MultinomialLogisticLossOp(const Shape& probabilities)
      : items_(probabilities[0]),
        classes_(probabilities.count_from(1)),
        divisor_(items_of(probabilities)) {}

  void forward(const RunContext& run) override {
    const float* const x = run.bottoms[0].read();
    const Labels labels(run, classes_);
    double sum = 0;
    for (std::int64_t i = 0; i < items_; ++i) {
      sum -= std::log(static_cast<double>(bounded(x[i * classes_ + labels.at(i)])));
    }
    run.tops[0].write()[0] = static_cast<float>(sum / divisor_);
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    gradient.fill_zero();
    if (!run.top_gradients[0]) return;
    const auto scale =
        static_cast<float>(static_cast<double>(run.top_gradients[0].read()[0]) / divisor_);
    const float* const x = run.bottoms[0].read();
    float* const dx = gradient.update();
    const Labels labels(run, classes_);
    for (std::int64_t i = 0; i < items_; ++i) {
      const std::int64_t at = i * classes_ + labels.at(i);
      dx[at] = -scale / bounded(x[at]);
    }
  }

 private:
  std::int64_t items_, classes_;
  double divisor_;
};

class MultinomialLogisticLossLayer final : public LossLayer {
 public:
  using LossLayer::LossLayer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_item_labels(bottoms);
    Inference inference;
    inference.tops = {Shape{}};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<MultinomialLogisticLossOp>(request.bottoms[0]);
  }
};

}  // namespace

std::unique_ptr<Layer> make_multinomial_logistic_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<MultinomialLogisticLossLayer>(definition);
}

}  // namespace crema
