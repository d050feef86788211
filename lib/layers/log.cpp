// Log (1 bottom, 1 top): the logarithm to any base (-1: e).
//
//   y = log(shift + scale * x) / log(base)        dx = dy * scale / ((shift + scale * x) *
//   log(base))
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

struct LogValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 12;
  float scale, shift, per_log_base;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return std::log(T(scale) * x + T(shift)) * T(per_log_base);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    return dy * (T(scale) * T(per_log_base)) / (T(scale) * x + T(shift));
  }
};

CREMA_POINTWISE("log", LogValue)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_log(const caffe::LayerParameter& definition) {
  const caffe::LogParameter& log = definition.log_param();
  require((log.base() > 0 && log.base() != 1) || log.base() == -1,
          "log_param.base is {}; it must be above 0 and not 1, or -1 for e", log.base());
  const float log_base = log.base() == -1 ? 1 : std::log(log.base());
  return std::make_unique<PointwiseLayer<LogValue>>(
      definition, "log", LogValue{log.scale(), log.shift(), 1 / log_base});
}

}  // namespace crema
#endif
