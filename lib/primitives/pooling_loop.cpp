// The loop version of pooling for every device, plain layout. Compiled twice
// (kernels/device_tags.h).
#include <cfloat>
#include <limits>

#include "kernels/parallel_for.h"
#include "primitives/pooling.h"

namespace crema {
namespace loops {

/// One index is one output. `winners` gets the winner's place in its plane, -1 where nothing wins.
template <class D, class T>
void pooling_forward(const Device& device, const PoolingShape& shape, const T* bottom, T* top,
                     std::int32_t* winners) {
  const std::int64_t in_h = shape.in_h, in_w = shape.in_w;
  const std::int64_t out_h = shape.out_h, out_w = shape.out_w;
  const std::int64_t kernel_h = shape.kernel_h, kernel_w = shape.kernel_w;
  const std::int64_t stride_h = shape.stride_h, stride_w = shape.stride_w;
  const std::int64_t pad_h = shape.pad_h, pad_w = shape.pad_w;
  const bool max = shape.method == PoolMethod::kMax;
  parallel_for(
      D{}, device, shape.batch * shape.channels * out_h * out_w,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t plane = i / (out_h * out_w);
        const std::int64_t h_start = i / out_w % out_h * stride_h - pad_h;
        const std::int64_t w_start = i % out_w * stride_w - pad_w;
        const std::int64_t h_first = h_start > 0 ? h_start : 0;
        const std::int64_t w_first = w_start > 0 ? w_start : 0;
        const std::int64_t h_last = h_start + kernel_h < in_h ? h_start + kernel_h : in_h;
        const std::int64_t w_last = w_start + kernel_w < in_w ? w_start + kernel_w : in_w;
        const T* const x = bottom + plane * in_h * in_w;
        if (max) {
          T best = -static_cast<T>(FLT_MAX);
          std::int32_t winner = -1;
          for (std::int64_t h = h_first; h < h_last; ++h) {
            for (std::int64_t w = w_first; w < w_last; ++w) {
              const T value = x[h * in_w + w];
              if (value > best) {
                best = value;
                winner = static_cast<std::int32_t>(h * in_w + w);
              }
            }
          }
          top[i] = best;
          if (winners != nullptr) winners[i] = winner;
        } else {
          const std::int64_t h_end =
              h_start + kernel_h < in_h + pad_h ? h_start + kernel_h : in_h + pad_h;
          const std::int64_t w_end =
              w_start + kernel_w < in_w + pad_w ? w_start + kernel_w : in_w + pad_w;
          T sum = 0;
          for (std::int64_t h = h_first; h < h_last; ++h) {
            for (std::int64_t w = w_first; w < w_last; ++w) sum += x[h * in_w + w];
          }
          top[i] = sum / static_cast<T>((h_end - h_start) * (w_end - w_start));
        }
      },
      kernel_h * kernel_w);
}

/// One index is one input: it gathers from the windows that look at it.
template <class D, class T>
void pooling_backward(const Device& device, const PoolingShape& shape, const T* top_gradient,
                      const std::int32_t* winners, T* bottom_gradient) {
  const std::int64_t in_h = shape.in_h, in_w = shape.in_w;
  const std::int64_t out_h = shape.out_h, out_w = shape.out_w;
  const std::int64_t kernel_h = shape.kernel_h, kernel_w = shape.kernel_w;
  const std::int64_t stride_h = shape.stride_h, stride_w = shape.stride_w;
  const std::int64_t pad_h = shape.pad_h, pad_w = shape.pad_w;
  const bool max = shape.method == PoolMethod::kMax;
  parallel_for(
      D{}, device, shape.batch * shape.channels * in_h * in_w,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t plane = i / (in_h * in_w);
        const std::int32_t place = static_cast<std::int32_t>(i % (in_h * in_w));
        const std::int64_t h = place / in_w + pad_h;
        const std::int64_t w = place % in_w + pad_w;
        const std::int64_t h_first = h < kernel_h ? 0 : (h - kernel_h) / stride_h + 1;
        const std::int64_t w_first = w < kernel_w ? 0 : (w - kernel_w) / stride_w + 1;
        const std::int64_t h_last = h / stride_h + 1 < out_h ? h / stride_h + 1 : out_h;
        const std::int64_t w_last = w / stride_w + 1 < out_w ? w / stride_w + 1 : out_w;
        const T* const dy = top_gradient + plane * out_h * out_w;
        T sum = 0;
        for (std::int64_t oh = h_first; oh < h_last; ++oh) {
          for (std::int64_t ow = w_first; ow < w_last; ++ow) {
            const std::int64_t o = oh * out_w + ow;
            if (max) {
              if (winners[plane * out_h * out_w + o] == place) sum += dy[o];
            } else {
              const std::int64_t h_start = oh * stride_h - pad_h;
              const std::int64_t w_start = ow * stride_w - pad_w;
              const std::int64_t h_end =
                  h_start + kernel_h < in_h + pad_h ? h_start + kernel_h : in_h + pad_h;
              const std::int64_t w_end =
                  w_start + kernel_w < in_w + pad_w ? w_start + kernel_w : in_w + pad_w;
              sum += dy[o] / static_cast<T>((h_end - h_start) * (w_end - w_start));
            }
          }
        }
        bottom_gradient[i] = sum;
      },
      4);
}

}  // namespace loops

#ifdef __CUDACC__

#define CREMA_INSTANTIATE(T)                                                                   \
  template void loops::pooling_forward<Cuda>(const Device&, const PoolingShape&, const T*, T*, \
                                             std::int32_t*);                                   \
  template void loops::pooling_backward<Cuda>(const Device&, const PoolingShape&, const T*,    \
                                              const std::int32_t*, T*)
CREMA_INSTANTIATE(float);
CREMA_INSTANTIATE(double);
#undef CREMA_INSTANTIATE

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
CREMA_INSTANTIATE(float);
CREMA_INSTANTIATE(double);
#undef CREMA_INSTANTIATE

#endif

}  // namespace crema
