// Sigmoid (1 bottom, 1 top): the logistic function.
//
//   y = 1 / (1 + exp(-x)) = tanh(x / 2) / 2 + 1/2        dx = dy * y * (1 - y)
//
// The form with tanh overflows nowhere.
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct SigmoidValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr int kCost = 16;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return T(0.5) * std::tanh(T(0.5) * x) + T(0.5);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * y * (1 - y);
  }
};

CREMA_POINTWISE("sigmoid", SigmoidValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/fields.h"
#include "layers/pointwise_op.h"

namespace crema {
namespace {

class SigmoidLayer final : public Layer {
 public:
  explicit SigmoidLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, definition.sigmoid_param().engine() == caffe::SigmoidParameter::CUDNN,
                "sigmoid_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  // Not any layout: elements that pad a packed one would become 1/2.
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<PointwiseOp<SigmoidValue>>("sigmoid");
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return true; }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }
};

}  // namespace

std::unique_ptr<Layer> make_sigmoid(const caffe::LayerParameter& definition) {
  return std::make_unique<SigmoidLayer>(definition);
}

}  // namespace crema
#endif
