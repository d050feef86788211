// Threshold (1 bottom, 1 top): which values are above a threshold.
//
//   y = x > threshold ? 1 : 0        no gradient
#include "kernels/pointwise.h"

namespace crema {

struct ThresholdValue {
  static constexpr bool kReadsBottom = false, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr bool kDifferentiable = false;
  static constexpr int kCost = 1;
  float threshold;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return x > threshold ? T(1) : T(0);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T, T) const {
    return T(0);
  }
};

CREMA_POINTWISE("threshold", ThresholdValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_threshold(const caffe::LayerParameter& definition) {
  return std::make_unique<PointwiseLayer<ThresholdValue>>(
      definition, "threshold", ThresholdValue{definition.threshold_param().threshold()});
}

}  // namespace crema
#endif
