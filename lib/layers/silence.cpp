// Silence (n >= 1 bottoms, no top): takes blobs that nobody wants, so that they are no outputs of
// the net.
//
// dx = 0 where a gradient is asked for.
#include "layers/layer.h"

namespace crema {
namespace {

class SilenceOp final : public Op {
 public:
  void forward(const RunContext&) override {}
  void backward(const RunContext& run) override {
    for (const Tensor& gradient : run.bottom_gradients) {
      if (gradient) gradient.fill_zero();
    }
  }
};

class SilenceLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>&) const override { return {}; }
  bool any_layout() const override { return definition().bottom_size() == 1; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<SilenceOp>();
  }
  bool backward_reads_bottom(int) const override { return false; }
};

}  // namespace

std::unique_ptr<Layer> make_silence(const caffe::LayerParameter& definition) {
  return std::make_unique<SilenceLayer>(definition);
}

}  // namespace crema
