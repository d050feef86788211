// The loop version of pooling for every device, plain layout. Compiled twice
// (kernels/device_tags.h).
#include <cfloat>

#include "kernels/instantiate.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "primitives/pooling_loops.h"

namespace crema {
namespace loops {

/// One index is one output. `winners` gets the winner's place in its plane, -1 where nothing wins.
template <class D, class T>
void pooling_forward(const Device& device, const PoolingShape& shape, const T* bottom, T* top,
                     std::int32_t* winners) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const bool max = shape.method == PoolMethod::kMax;
  parallel_for(
      D{}, device, shape.top().count(),
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t oh = i / columns.out % rows.out;
        const std::int64_t ow = i % columns.out;
        const Span high = rows.window(oh);
        const Span wide = columns.window(ow);
        const T* const x = bottom + i / (rows.out * columns.out) * rows.in * columns.in;
        if (max) {
          T best = -static_cast<T>(FLT_MAX);
          std::int32_t winner = -1;
          for (std::int64_t h = high.first; h < high.last; ++h) {
            for (std::int64_t w = wide.first; w < wide.last; ++w) {
              const T value = x[h * columns.in + w];
              if (value > best) {
                best = value;
                winner = static_cast<std::int32_t>(h * columns.in + w);
              }
            }
          }
          top[i] = best;
          if (winners != nullptr) winners[i] = winner;
        } else {
          T sum = 0;
          for (std::int64_t h = high.first; h < high.last; ++h) {
            for (std::int64_t w = wide.first; w < wide.last; ++w) sum += x[h * columns.in + w];
          }
          top[i] = sum / static_cast<T>(rows.divisor(oh) * columns.divisor(ow));
        }
      },
      rows.kernel * columns.kernel);
}

/// One index is one input: it gathers from the windows that look at it.
template <class D, class T>
void pooling_backward(const Device& device, const PoolingShape& shape, const T* top_gradient,
                      const std::int32_t* winners, T* bottom_gradient) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const bool max = shape.method == PoolMethod::kMax;
  parallel_for(
      D{}, device, shape.bottom().count(),
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t first = i / (rows.in * columns.in) * rows.out * columns.out;
        const std::int32_t place = static_cast<std::int32_t>(i % (rows.in * columns.in));
        const Span high = rows.windows(place / columns.in);
        const Span wide = columns.windows(place % columns.in);
        const T* const dy = top_gradient + first;
        T sum = 0;
        for (std::int64_t oh = high.first; oh < high.last; ++oh) {
          for (std::int64_t ow = wide.first; ow < wide.last; ++ow) {
            const std::int64_t o = oh * columns.out + ow;
            if (max) {
              if (winners[first + o] == place) sum += dy[o];
            } else {
              sum += dy[o] / static_cast<T>(rows.divisor(oh) * columns.divisor(ow));
            }
          }
        }
        bottom_gradient[i] = sum;
      },
      4);
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("pooling.forward", &loops::pooling_forward<Cuda, float>)
CREMA_CUDA_LOOP("pooling.backward", &loops::pooling_backward<Cuda, float>)

#else

template <class T>
void pooling_forward_loop(const Device& device, const PoolingShape& shape, const T* bottom, T* top,
                          std::int32_t* winners) {
  loops::pooling_forward<Cpu>(device, shape, bottom, top, winners);
}
template <class T>
void pooling_backward_loop(const Device& device, const PoolingShape& shape, const T* top_gradient,
                           const std::int32_t* winners, T* bottom_gradient) {
  loops::pooling_backward<Cpu>(device, shape, top_gradient, winners, bottom_gradient);
}

#define CREMA_INSTANTIATE(T)                                                           \
  template void pooling_forward_loop(const Device&, const PoolingShape&, const T*, T*, \
                                     std::int32_t*);                                   \
  template void pooling_backward_loop(const Device&, const PoolingShape&, const T*,    \
                                      const std::int32_t*, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

#endif

}  // namespace crema
