// Clip (1 bottom, 1 top): values kept within bounds.
//
//   y = min if x < min, max if x > max, else x        dx = dy where min <= x <= max, else 0
#include "kernels/pointwise.h"

namespace crema {

struct ClipValue {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 1;
  float low, high;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    const T raised = x < low ? T(low) : x;
    return raised > high ? T(high) : raised;
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    return x < low || x > high ? T(0) : dy;
  }
};

CREMA_POINTWISE("clip", ClipValue)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_clip(const caffe::LayerParameter& definition) {
  const caffe::ClipParameter& clip = definition.clip_param();
  require(clip.has_min(), "clip_param.min is missing: both bounds must be given");
  require(clip.has_max(), "clip_param.max is missing: both bounds must be given");
  require(clip.min() <= clip.max(), "clip_param.min {} is above clip_param.max {}", clip.min(),
          clip.max());
  return std::make_unique<PointwiseLayer<ClipValue>>(definition, "clip",
                                                     ClipValue{clip.min(), clip.max()});
}

}  // namespace crema
#endif
