// BNLL (1 bottom, 1 top): the binomial normal log likelihood, a smooth form of ReLU.
//
//   y = log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))        dx = dy * exp(x) / (1 + exp(x))
//
// The second form of y overflows nowhere; neither does the gradient with exp(min(x, 50)).
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct BnllValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 24;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x)));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    const T e = std::exp(x > 50 ? T(50) : x);
    return dy * e / (e + 1);
  }
};

CREMA_POINTWISE("bnll", BnllValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_bnll(const caffe::LayerParameter& definition) {
  return std::make_unique<PointwiseLayer<BnllValue>>(definition, "bnll");
}

}  // namespace crema
#endif
