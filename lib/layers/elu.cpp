// ELU (1 bottom, 1 top): exponential linear units.
//
//   y = x for x > 0, else alpha * (exp(x) - 1)        dx = dy * (x > 0 ? 1 : y + alpha)
//
// For alpha >= 0 the sign of x is that of y, so that backward needs the top only; for alpha < 0 it
// reads the bottom as well. Clevert et al., ICLR 2016.
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

template <bool kBottom>
struct EluValue {
  static constexpr bool kReadsBottom = kBottom, kReadsTop = true;
  static constexpr bool kZeroAtZero = true;
  static constexpr int kCost = 16;
  float alpha;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return x > 0 ? x : T(alpha) * std::expm1(x);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T y, T dy) const {
    return dy * ((kBottom ? x : y) > 0 ? T(1) : y + T(alpha));
  }
};

CREMA_POINTWISE("elu", EluValue<false>)
CREMA_POINTWISE("elu.negative_alpha", EluValue<true>)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_elu(const caffe::LayerParameter& definition) {
  const float alpha = definition.elu_param().alpha();
  if (alpha < 0) {
    return std::make_unique<PointwiseLayer<EluValue<true>>>(definition, "elu.negative_alpha",
                                                            EluValue<true>{alpha});
  }
  return std::make_unique<PointwiseLayer<EluValue<false>>>(definition, "elu",
                                                           EluValue<false>{alpha});
}

}  // namespace crema
#endif
