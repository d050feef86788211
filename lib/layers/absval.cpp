// AbsVal (1 bottom, 1 top): the absolute value.
//
//   y = |x|        dx = dy * sign(x), 0 at 0
//
// Backward needs the sign of x, so that a top of the bottom's name is refused, as in Caffe.
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct AbsValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = true;
  static constexpr int kCost = 1;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return std::abs(x);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    // What is on neither side is 0, or NaN and stays that.
    return dy * (x > 0 ? T(1) : x < 0 ? T(-1) : x);
  }
};

CREMA_POINTWISE("absval", AbsValue)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_absval(const caffe::LayerParameter& definition) {
  require(definition.bottom_size() == 0 || definition.top_size() == 0 ||
              definition.bottom(0) != definition.top(0),
          "AbsVal cannot work in place: its top must have another name than its bottom \"{}\"",
          definition.bottom_size() > 0 ? definition.bottom(0) : "");
  return std::make_unique<PointwiseLayer<AbsValue>>(definition, "absval");
}

}  // namespace crema
#endif
