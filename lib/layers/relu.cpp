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
  static constexpr bool kZeroAtZero = true;
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

/// Backward looks at the top, which tells the sides apart unless the slope is below 0: then at the
/// bottom.
template <bool kBottom>
struct LeakyReluValue {
  static constexpr bool kReadsBottom = kBottom, kReadsTop = !kBottom;
  static constexpr bool kZeroAtZero = true;
  static constexpr int kCost = 1;
  float slope;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return leaky(x, T(slope));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T y, T dy) const {
    return dy * ((kBottom ? x : y) > 0 ? T(1) : T(slope));
  }
};

CREMA_POINTWISE("relu", ReluValue)
CREMA_POINTWISE("relu.leaky", LeakyReluValue<false>)
CREMA_POINTWISE("relu.negative_slope", LeakyReluValue<true>)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {
namespace {

std::unique_ptr<Layer> with_slope(const caffe::LayerParameter& definition) {
  const float slope = definition.relu_param().negative_slope();
  if (slope == 0) return std::make_unique<PointwiseLayer<ReluValue>>(definition, "relu");
  if (slope < 0) {
    return std::make_unique<PointwiseLayer<LeakyReluValue<true>>>(definition, "relu.negative_slope",
                                                                  LeakyReluValue<true>{slope});
  }
  return std::make_unique<PointwiseLayer<LeakyReluValue<false>>>(definition, "relu.leaky",
                                                                 LeakyReluValue<false>{slope});
}

}  // namespace

std::unique_ptr<Layer> make_relu(const caffe::LayerParameter& definition) {
  std::unique_ptr<Layer> layer = with_slope(definition);
  note_engine(*layer, definition.relu_param().engine() == caffe::ReLUParameter::CUDNN,
              "relu_param.engine");
  return layer;
}

}  // namespace crema
#endif
