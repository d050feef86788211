// TanH (1 bottom, 1 top): the hyperbolic tangent.
//
//   y = tanh(x)        dx = dy * (1 - y^2)
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct TanhValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr int kCost = 16;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return std::tanh(x);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * (1 - y * y);
  }
};

CREMA_POINTWISE("tanh", TanhValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/fields.h"
#include "layers/pointwise_op.h"

namespace crema {
namespace {

class TanhLayer final : public Layer {
 public:
  explicit TanhLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, definition.tanh_param().engine() == caffe::TanHParameter::CUDNN,
                "tanh_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  bool any_layout() const override { return true; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<PointwiseOp<TanhValue>>("tanh");
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return true; }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }
};

}  // namespace

std::unique_ptr<Layer> make_tanh(const caffe::LayerParameter& definition) {
  return std::make_unique<TanhLayer>(definition);
}

}  // namespace crema
#endif
