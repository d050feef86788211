// The geometry of pooling windows, for every device; and the pooling loops of the CPU, by layout:
// the engines of pooling.cpp. A winner is a place in its window (row * kernel_w + column, counted
// from the window's start before clipping), kNoWinner where nothing won.
#pragma once

#include <cstdint>

#include "kernels/device_tags.h"
#include "primitives/pooling.h"

namespace crema::loops {

template <class Index>
constexpr Index kNoWinner = static_cast<Index>(-1);

/// A window on one axis, or the windows that see one input.
struct Span {
  std::int64_t first, last;
};

/// One axis of a pooling. No std::max and std::min: device code cannot call them.
struct PoolAxis {
  std::int64_t in, out, kernel, stride, pad;

  /// Where the window starts, before clipping.
  CREMA_FUNCTOR std::int64_t start(std::int64_t o) const { return o * stride - pad; }
  /// The inputs that it looks at; empty (first = last) when it lies outside.
  CREMA_FUNCTOR Span window(std::int64_t o) const {
    const std::int64_t first = start(o) > 0 ? start(o) : 0;
    const std::int64_t last = start(o) + kernel < in ? start(o) + kernel : in;
    return {first, last > first ? last : first};
  }
  /// What AVE divides by: the window cut at the end of the padding only.
  CREMA_FUNCTOR std::int64_t divisor(std::int64_t o) const {
    return (start(o) + kernel < in + pad ? start(o) + kernel : in + pad) - start(o);
  }
  /// The windows that look at input i.
  CREMA_FUNCTOR Span windows(std::int64_t i) const {
    const std::int64_t first = i + pad < kernel ? 0 : (i + pad - kernel) / stride + 1;
    const std::int64_t last = (i + pad) / stride + 1 < out ? (i + pad) / stride + 1 : out;
    return {first, last > first ? last : first};
  }
};

inline PoolAxis rows_of(const PoolingShape& s) {
  return {s.in_h, s.out_h, s.kernel_h, s.stride_h, s.pad_h};
}
inline PoolAxis columns_of(const PoolingShape& s) {
  return {s.in_w, s.out_w, s.kernel_w, s.stride_w, s.pad_w};
}

// Channels-last: vectors of channels. winners may be null when no one will ask.
template <class Index>
void max_forward_last(const Device& device, const PoolingShape& shape, const float* bottom,
                      float* top, Index* winners);
template <class Index>
void max_backward_last(const Device& device, const PoolingShape& shape, const float* top_gradient,
                       const Index* winners, float* bottom_gradient);
void average_forward_last(const Device& device, const PoolingShape& shape, const float* bottom,
                          float* top);
void average_backward_last(const Device& device, const PoolingShape& shape,
                           const float* top_gradient, float* bottom_gradient);

// Plain: planes, vectors of output columns.
template <class Index>
void max_forward_plain(const Device& device, const PoolingShape& shape, const float* bottom,
                       float* top, Index* winners);
template <class Index>
void max_backward_plain(const Device& device, const PoolingShape& shape, const float* top_gradient,
                        const Index* winners, float* bottom_gradient);
void average_forward_plain(const Device& device, const PoolingShape& shape, const float* bottom,
                           float* top);
void average_backward_plain(const Device& device, const PoolingShape& shape,
                            const float* top_gradient, float* bottom_gradient);

}  // namespace crema::loops
