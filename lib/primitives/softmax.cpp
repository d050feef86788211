// Softmax for every device: one loop index is one vector of classes. Compiled twice
// (kernels/device_tags.h).
#include "primitives/softmax.h"

#include <cmath>

#include "kernels/instantiate.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {

template <class D, class T>
void softmax_forward(const Device& device, const SoftmaxShape& shape, const T* bottom, T* top) {
  const std::int64_t classes = shape.classes;
  const std::int64_t inner = shape.inner;
  parallel_for(
      D{}, device, shape.outer * inner,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t first = i / inner * classes * inner + i % inner;
        const T* const x = bottom + first;
        T* const y = top + first;
        T largest = x[0];
        for (std::int64_t c = 1; c < classes; ++c) {
          largest = x[c * inner] > largest ? x[c * inner] : largest;
        }
        T sum = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          const T value = std::exp(x[c * inner] - largest);
          y[c * inner] = value;
          sum += value;
        }
        for (std::int64_t c = 0; c < classes; ++c) y[c * inner] /= sum;
      },
      classes * 8);
}

template <class D, class T>
void softmax_backward(const Device& device, const SoftmaxShape& shape, const T* top,
                      const T* top_gradient, T* bottom_gradient) {
  const std::int64_t classes = shape.classes;
  const std::int64_t inner = shape.inner;
  parallel_for(
      D{}, device, shape.outer * inner,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t first = i / inner * classes * inner + i % inner;
        const T* const y = top + first;
        const T* const dy = top_gradient + first;
        T* const dx = bottom_gradient + first;
        T dot = 0;
        for (std::int64_t c = 0; c < classes; ++c) dot += dy[c * inner] * y[c * inner];
        for (std::int64_t c = 0; c < classes; ++c) {
          dx[c * inner] = (dy[c * inner] - dot) * y[c * inner];
        }
      },
      classes * 2);
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("softmax.forward", &loops::softmax_forward<Cuda, float>)
CREMA_CUDA_LOOP("softmax.backward", &loops::softmax_backward<Cuda, float>)

#else

template <class T>
void softmax_forward(const Device& device, const SoftmaxShape& shape, const T* bottom, T* top) {
  loops::softmax_forward<Cpu>(device, shape, bottom, top);
}
template <class T>
void softmax_backward(const Device& device, const SoftmaxShape& shape, const T* top,
                      const T* top_gradient, T* bottom_gradient) {
  loops::softmax_backward<Cpu>(device, shape, top, top_gradient, bottom_gradient);
}

#define CREMA_INSTANTIATE(T)                                                       \
  template void softmax_forward(const Device&, const SoftmaxShape&, const T*, T*); \
  template void softmax_backward(const Device&, const SoftmaxShape&, const T*, const T*, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

#endif

}  // namespace crema
