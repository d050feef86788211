// Sigmoid (1 bottom, 1 top): the logistic function.
//
//   y = 1 / (1 + exp(-x)) = tanh(x / 2) / 2 + 1/2        dx = dy * y * (1 - y)
//
// The form with tanh overflows nowhere.
#include "kernels/fast_tanh.h"
#include "kernels/pointwise.h"

namespace crema {

struct SigmoidValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 4;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return T(0.5) * fast_tanh(T(0.5) * x) + T(0.5);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * y * (1 - y);
  }
};

CREMA_POINTWISE("sigmoid", SigmoidValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_sigmoid(const caffe::LayerParameter& definition) {
  auto layer = std::make_unique<PointwiseLayer<SigmoidValue>>(definition, "sigmoid");
  note_engine(*layer, definition.sigmoid_param().engine() == caffe::SigmoidParameter::CUDNN,
              "sigmoid_param.engine");
  return layer;
}

}  // namespace crema
#endif
