// The loop version of local response normalisation for every device, plain layout. Compiled twice
// (kernels/device_tags.h).
#include <cmath>

#include "kernels/instantiate.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "primitives/lrn.h"

namespace crema {
namespace loops {

/// What both directions need of a shape, with the window cut to reach no further than all channels.
template <class T>
struct LrnTerms {
  explicit LrnTerms(const LrnShape& shape)
      : channels(shape.channels),
        spatial(shape.spatial),
        before((shape.size - 1) / 2),
        after(shape.size - 1 - (shape.size - 1) / 2),
        k(static_cast<T>(shape.k)),
        alpha(static_cast<T>(shape.alpha) / static_cast<T>(shape.size)),
        beta(static_cast<T>(shape.beta)) {}

  /// s of channel c, where x points at channel 0 of a column of channels.
  CREMA_FUNCTOR T sum(const T* x, std::int64_t c) const {
    const std::int64_t first = c > before ? c - before : 0;
    const std::int64_t last = c + after + 1 < channels ? c + after + 1 : channels;
    T squares = 0;
    for (std::int64_t j = first; j < last; ++j) squares += x[j * spatial] * x[j * spatial];
    return k + alpha * squares;
  }

  std::int64_t channels, spatial, before, after;
  T k, alpha, beta;
};

template <class D, class T>
void lrn_forward(const Device& device, const LrnShape& shape, const T* bottom, T* top) {
  const LrnTerms<T> terms(shape);
  parallel_for(
      D{}, device, shape.batch * shape.channels * shape.spatial,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t c = i / terms.spatial % terms.channels;
        const T s = terms.sum(bottom + i - c * terms.spatial, c);
        top[i] = bottom[i] * std::pow(s, -terms.beta);
      },
      shape.size + 16);
}

template <class D, class T>
void lrn_backward(const Device& device, const LrnShape& shape, const T* bottom,
                  const T* top_gradient, T* bottom_gradient) {
  const LrnTerms<T> terms(shape);
  const T factor = 2 * terms.alpha * terms.beta;
  parallel_for(
      D{}, device, shape.batch * shape.channels * shape.spatial,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t c = i / terms.spatial % terms.channels;
        const T* const x = bottom + i - c * terms.spatial;
        const T* const dy = top_gradient + i - c * terms.spatial;
        // The windows that hold c are centred on c - after .. c + before.
        const std::int64_t first = c > terms.after ? c - terms.after : 0;
        const std::int64_t last =
            c + terms.before + 1 < terms.channels ? c + terms.before + 1 : terms.channels;
        T sum = 0;
        for (std::int64_t j = first; j < last; ++j) {
          const std::int64_t at = j * terms.spatial;
          sum += dy[at] * x[at] * std::pow(terms.sum(x, j), -terms.beta - 1);
        }
        const T s = terms.sum(x, c);
        bottom_gradient[i] = top_gradient[i] * std::pow(s, -terms.beta) - factor * bottom[i] * sum;
      },
      shape.size * (shape.size + 16));
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("lrn.forward", &loops::lrn_forward<Cuda, float>)
CREMA_CUDA_LOOP("lrn.backward", &loops::lrn_backward<Cuda, float>)

#else

template <class T>
void lrn_forward_loop(const Device& device, const LrnShape& shape, const T* bottom, T* top) {
  loops::lrn_forward<Cpu>(device, shape, bottom, top);
}
template <class T>
void lrn_backward_loop(const Device& device, const LrnShape& shape, const T* bottom,
                       const T* top_gradient, T* bottom_gradient) {
  loops::lrn_backward<Cpu>(device, shape, bottom, top_gradient, bottom_gradient);
}

#define CREMA_INSTANTIATE(T)                                                    \
  template void lrn_forward_loop(const Device&, const LrnShape&, const T*, T*); \
  template void lrn_backward_loop(const Device&, const LrnShape&, const T*, const T*, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

#endif

}  // namespace crema
