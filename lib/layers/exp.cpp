// Exp (1 bottom, 1 top): the exponential function to any base (-1: e).
//
//   y = base^(shift + scale * x)        dx = dy * y * scale * log(base)
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

/// exp(factor * x + summand).
struct ExpValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 12;
  float factor, summand;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return std::exp(T(factor) * x + T(summand));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * y * T(factor);
  }
};

CREMA_POINTWISE("exp", ExpValue)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_exp(const caffe::LayerParameter& definition) {
  const caffe::ExpParameter& exp = definition.exp_param();
  require(exp.base() > 0 || exp.base() == -1,
          "exp_param.base is {}; it must be above 0, or -1 for e", exp.base());
  const float log_base = exp.base() == -1 ? 1 : std::log(exp.base());
  return std::make_unique<PointwiseLayer<ExpValue>>(
      definition, "exp", ExpValue{log_base * exp.scale(), log_base * exp.shift()});
}

}  // namespace crema
#endif
