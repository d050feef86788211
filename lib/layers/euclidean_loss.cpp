// EuclideanLoss (2 bottoms a and b of equal sizes; 1 top).
//
//   loss = sum of (a - b)^2 / (2 N), N the size of axis 0        da = L * (a - b) / N, db = -da
//
// L is the gradient of the loss. An empty batch has loss 0.
#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/parallel_for.h"
#include "layers/loss.h"

namespace crema {
namespace {

class EuclideanLossOp final : public Op {
 public:
  explicit EuclideanLossOp(const PlanRequest& request)
      : count_(request.bottoms[0].count()), items_(items_of(request.bottoms[0])) {
    scratch_bytes_ = static_cast<std::size_t>(count_) * sizeof(float);  // a - b
  }

  void forward(const RunContext& run) override {
    const float* a = run.bottoms[0].read();
    const float* b = run.bottoms[1].read();
    float* difference = static_cast<float*>(run.scratch);
    parallel_for(Cpu{}, run.device, count_, [=](std::int64_t i) { difference[i] = a[i] - b[i]; });
    run.tops[0].write()[0] =
        static_cast<float>(sum_of_squares(run.device, count_, difference) / (2 * items_));
  }

  void backward(const RunContext& run) override {
    for (int i = 0; i < 2; ++i) {
      const Tensor& gradient = run.bottom_gradients[static_cast<std::size_t>(i)];
      if (!gradient) continue;
      if (!run.top_gradients[0]) {
        gradient.fill_zero();
        continue;
      }
      const double weight = static_cast<double>(run.top_gradients[0].read()[0]) / items_;
      const auto factor = static_cast<float>(i == 0 ? weight : -weight);
      const float* a = run.bottoms[0].read();
      const float* b = run.bottoms[1].read();
      float* to = gradient.write();
      parallel_for(Cpu{}, run.device, count_,
                   [=](std::int64_t j) { to[j] = factor * (a[j] - b[j]); });
    }
  }

 private:
  std::int64_t count_;
  double items_;
};

class EuclideanLossLayer final : public LossLayer {
 public:
  using LossLayer::LossLayer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_same_items(bottoms);
    require(
        bottoms[0].count_from(1) == bottoms[1].count_from(1),
        "both bottoms must have the same number of values an item: bottom 0 is {}, bottom 1 is {}",
        bottoms[0].str(), bottoms[1].str());
    Inference inference;
    inference.tops = {Shape{}};
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<EuclideanLossOp>(request);
  }
  bool differentiable(int) const override { return true; }
};

}  // namespace

std::unique_ptr<Layer> make_euclidean_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<EuclideanLossLayer>(definition);
}

}  // namespace crema
