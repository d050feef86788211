// Softmax (1 bottom, 1 top) along `axis`: probabilities from scores.
//
//   y = exp(x - max) / sum of exp(x - max)        dx = (dy - sum of dy*y) * y
#include "primitives/softmax.h"
#include "base/error.h"
#include "layers/class_axis.h"

namespace crema {
namespace {

class SoftmaxOp final : public Op {
 public:
  explicit SoftmaxOp(const ClassAxis& a) : shape_{a.outer, a.classes, a.inner} {}

  void forward(const RunContext& run) override {
    softmax_forward(run.device, shape_, run.bottoms[0].read(), run.tops[0].write());
  }
  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      softmax_backward(run.device, shape_, run.tops[0].read(), run.top_gradients[0].read(),
                       run.bottom_gradients[0].write());
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  SoftmaxShape shape_;
};

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, definition.softmax_param().engine() == caffe::SoftmaxParameter::CUDNN,
                "softmax_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    class_axis(bottoms[0]);
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    if (axis_of(bottom, definition().softmax_param().axis(), "softmax_param.axis") != 1) {
      return {plain_choice(request)};
    }
    return plain_or_channels_last(request);
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SoftmaxOp>(
        class_axis(request.bottoms[0]).in(request.bottom_layouts[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return true; }
  bool backward_in_place() const override { return true; }

 private:
  ClassAxis class_axis(const Shape& bottom) const {
    return ClassAxis::of(bottom, definition().softmax_param().axis(), "softmax_param.axis");
  }
};

}  // namespace

std::unique_ptr<Layer> make_softmax(const caffe::LayerParameter& definition) {
  return std::make_unique<SoftmaxLayer>(definition);
}

}  // namespace crema
