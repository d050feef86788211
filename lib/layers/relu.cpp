// ReLU (1 bottom, 1 top): rectified linear units, with a slope s for negative values.
//
//   y = max(x, 0) + s * min(x, 0)        dx = dy * (x > 0 ? 1 : s)
//
// NaN stays NaN. For s >= 0 the sign of x is that of y, so that backward needs the top only and the
// layer works in place; for s < 0 it reads the bottom. Nair and Hinton, ICML 2010.
#include "kernels/pointwise.h"

namespace crema {

struct ReluValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr int kCost = 1;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return x < 0 ? T(0) : x;
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return y > 0 ? dy : T(0);
  }
};

/// x or slope * x, in a form that vectorises: a product under a condition does not.
template <class T>
CREMA_FUNCTOR inline T leaky(T x, T slope) {
  return (x < 0 ? T(0) : x) + slope * (x < 0 ? x : T(0));
}

/// 0 < slope (or NaN, or whatever a user writes there, but not below 0).
struct LeakyReluValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr int kCost = 1;
  float slope;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return leaky(x, T(slope));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * (y > 0 ? T(1) : T(slope));
  }
};

struct NegativeSlopeReluValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr int kCost = 1;
  float slope;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return leaky(x, T(slope));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    return dy * (x > 0 ? T(1) : T(slope));
  }
};

CREMA_POINTWISE("relu", ReluValue)
CREMA_POINTWISE("relu.leaky", LeakyReluValue)
CREMA_POINTWISE("relu.negative_slope", NegativeSlopeReluValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/fields.h"
#include "layers/pointwise_op.h"

namespace crema {
namespace {

class ReluLayer final : public Layer {
 public:
  explicit ReluLayer(const caffe::LayerParameter& definition)
      : Layer(definition), slope_(definition.relu_param().negative_slope()) {
    note_engine(*this, definition.relu_param().engine() == caffe::ReLUParameter::CUDNN,
                "relu_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  bool any_layout() const override { return true; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    if (slope_ == 0) return std::make_unique<PointwiseOp<ReluValue>>("relu");
    if (slope_ < 0) {
      return std::make_unique<PointwiseOp<NegativeSlopeReluValue>>("relu.negative_slope",
                                                                   NegativeSlopeReluValue{slope_});
    }
    return std::make_unique<PointwiseOp<LeakyReluValue>>("relu.leaky", LeakyReluValue{slope_});
  }
  bool backward_reads_bottom(int) const override { return slope_ < 0; }
  bool backward_reads_top(int) const override { return !(slope_ < 0); }
  bool forward_in_place() const override { return !(slope_ < 0); }
  bool backward_in_place() const override { return true; }

 private:
  float slope_;
};

}  // namespace

std::unique_ptr<Layer> make_relu(const caffe::LayerParameter& definition) {
  return std::make_unique<ReluLayer>(definition);
}

}  // namespace crema
#endif
