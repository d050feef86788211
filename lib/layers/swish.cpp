// Swish (1 bottom, 1 top): the input times its logistic function.
//
//   y = x * s, s = 1 / (1 + exp(-beta * x))        dx = dy * (s + beta * y * (1 - s))
//
// Ramachandran et al., 2017.
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct SwishValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = true;
  static constexpr int kCost = 16;
  float beta;
  template <class T>
  CREMA_FUNCTOR T logistic(T x) const {
    return T(0.5) * std::tanh(T(0.5) * T(beta) * x) + T(0.5);  // overflows nowhere
  }
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return x * logistic(x);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    const T s = logistic(x);
    return dy * (s + T(beta) * x * s * (1 - s));
  }
};

CREMA_POINTWISE("swish", SwishValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_swish(const caffe::LayerParameter& definition) {
  return std::make_unique<PointwiseLayer<SwishValue>>(definition, "swish",
                                                      SwishValue{definition.swish_param().beta()});
}

}  // namespace crema
#endif
