// Split (1 bottom, n >= 1 tops): the same values for several consumers.
//
// y_i = x, all in one memory; dx = sum of dy_i.
#include "kernels/parallel_for.h"
#include "layers/layer.h"

namespace crema {
namespace {

class SplitOp final : public Op {
 public:
  void forward(const RunContext& run) override {
    // Nothing where the tops are views, as they should be.
    for (const Tensor& top : run.tops) {
      if (top.read() != run.bottoms[0].read()) run.bottoms[0].copy_to(top);
    }
  }

  void backward(const RunContext& run) override {
    const Tensor& sum = run.bottom_gradients[0];
    bool first = true;
    for (const Tensor& gradient : run.top_gradients) {
      if (!gradient) continue;
      if (first) {
        // In place the sum starts as the gradient of top 0, and no other.
        if (gradient.read() != sum.read()) gradient.copy_to(sum);
      } else {
        const float* from = gradient.read();
        float* to = sum.update();
        parallel_for(Cpu{}, run.device, sum.elements(), [=](std::int64_t i) { to[i] += from[i]; });
      }
      first = false;
    }
    if (first) sum.fill_zero();
  }
};

class SplitLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops.assign(static_cast<std::size_t>(definition().top_size()), bottoms[0]);
    return inference;
  }

  bool any_layout() const override { return true; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<SplitOp>();
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_in_place() const override { return true; }
  bool is_view(int) const override { return true; }
};

}  // namespace

std::unique_ptr<Layer> make_split(const caffe::LayerParameter& definition) {
  return std::make_unique<SplitLayer>(definition);
}

}  // namespace crema
