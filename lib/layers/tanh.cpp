// TanH (1 bottom, 1 top): the hyperbolic tangent.
//
//   y = tanh(x)        dx = dy * (1 - y^2)
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct TanhValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr bool kZeroAtZero = true;
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
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_tanh(const caffe::LayerParameter& definition) {
  auto layer = std::make_unique<PointwiseLayer<TanhValue>>(definition, "tanh");
  note_engine(*layer, definition.tanh_param().engine() == caffe::TanHParameter::CUDNN,
              "tanh_param.engine");
  return layer;
}

}  // namespace crema
#endif
