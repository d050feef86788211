// Pooling of plain blobs, plane by plane. The window's taps are the outer loop and a row of outputs
// the inner one, which vectorises for the usual strides.
#include <algorithm>
#include <cfloat>

#include "kernels/parallel_for.h"
#include "primitives/pooling_loops.h"

namespace crema::loops {
namespace {

/// The outputs [first, last) for which tap `k` of the window exists.
Span outputs_of_tap(const PoolAxis& axis, std::int64_t k) {
  const std::int64_t offset = k - axis.pad;
  const std::int64_t first = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const std::int64_t last = offset >= axis.in ? 0 : (axis.in - 1 - offset) / axis.stride + 1;
  return {first, std::max(first, std::min(last, axis.out))};
}

/// Calls body with the stride as a constant where that helps the compiler.
template <class Body>
[[gnu::always_inline]] inline void with_stride(std::int64_t stride, const Body& body) {
  if (stride == 1) {
    body(std::integral_constant<std::int64_t, 1>{});
  } else if (stride == 2) {
    body(std::integral_constant<std::int64_t, 2>{});
  } else {
    body(stride);
  }
}

template <class Body>
void for_each_plane(const Device& device, const PoolingShape& shape, const Body& body) {
  const std::int64_t cost = shape.out_h * shape.out_w * shape.kernel_h * shape.kernel_w / 2;
  parallel_ranges(device, shape.batch * shape.channels, cost,
                  [=](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
                  });
}

/// A row of outputs is made in strips, in arrays that nothing else can alias.
constexpr std::int64_t kStrip = 64;

/// Calls body(first, last, from) for each tap of the row of windows `oh`: for outputs first ..
/// last-1 of the strip that starts at `strip` the tap is from[(o - strip) * stride].
template <class Body>
[[gnu::always_inline]] inline void for_each_tap(const PoolAxis& rows, const PoolAxis& columns,
                                                const float* image, std::int64_t oh,
                                                std::int64_t strip, std::int64_t width,
                                                const Body& body) {
  const Span window = rows.window(oh);
  for (std::int64_t h = window.first; h < window.last; ++h) {
    const std::int64_t place = (h - rows.start(oh)) * columns.kernel;
    for (std::int64_t k = 0; k < columns.kernel; ++k) {
      const Span outputs = outputs_of_tap(columns, k);
      const std::int64_t first = std::max<std::int64_t>(outputs.first - strip, 0);
      const std::int64_t last = std::min(outputs.last - strip, width);
      const float* const from = image + h * columns.in + (k - columns.pad) + strip * columns.stride;
      with_stride(columns.stride, [&](auto stride) { body(first, last, from, stride, place + k); });
    }
  }
}

template <bool kWinners, class Index>
void max_forward(const Device& device, const PoolingShape& shape, const float* bottom, float* top,
                 Index* winners) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  for_each_plane(device, shape, [=](std::int64_t plane) {
    const float* const image = bottom + plane * rows.in * columns.in;
    float best[kStrip];
    std::int32_t winner[kStrip];
    for (std::int64_t oh = 0; oh < rows.out; ++oh) {
      for (std::int64_t strip = 0; strip < columns.out; strip += kStrip) {
        const std::int64_t width = std::min(kStrip, columns.out - strip);
        for (std::int64_t o = 0; o < width; ++o) {
          best[o] = -FLT_MAX;
          winner[o] = -1;
        }
        for_each_tap(rows, columns, image, oh, strip, width,
                     [&](std::int64_t first, std::int64_t last, const float* from, auto stride,
                         std::int64_t place) {
                       const auto index = static_cast<std::int32_t>(place);
                       for (std::int64_t o = first; o < last; ++o) {
                         const float x = from[o * stride];
                         if constexpr (kWinners) winner[o] = x > best[o] ? index : winner[o];
                         best[o] = x > best[o] ? x : best[o];
                       }
                     });
        const std::int64_t at = (plane * rows.out + oh) * columns.out + strip;
        std::copy(best, best + width, top + at);
        if constexpr (kWinners) {
          for (std::int64_t o = 0; o < width; ++o) winners[at + o] = static_cast<Index>(winner[o]);
        }
      }
    }
  });
}

}  // namespace

template <class Index>
void max_forward_plain(const Device& device, const PoolingShape& shape, const float* bottom,
                       float* top, Index* winners) {
  if (winners != nullptr) {
    max_forward<true>(device, shape, bottom, top, winners);
  } else {
    max_forward<false>(device, shape, bottom, top, winners);
  }
}

template <class Index>
void max_backward_plain(const Device& device, const PoolingShape& shape, const float* top_gradient,
                        const Index* winners, float* bottom_gradient) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  for_each_plane(device, shape, [=](std::int64_t plane) {
    float* const dx = bottom_gradient + plane * rows.in * columns.in;
    std::fill(dx, dx + rows.in * columns.in, 0.0f);
    for (std::int64_t oh = 0; oh < rows.out; ++oh) {
      const std::int64_t at = (plane * rows.out + oh) * columns.out;
      for (std::int64_t ow = 0; ow < columns.out; ++ow) {
        const Index winner = winners[at + ow];
        if (winner == kNoWinner<Index>) continue;
        const std::int64_t h = rows.start(oh) + winner / columns.kernel;
        const std::int64_t w = columns.start(ow) + winner % columns.kernel;
        dx[h * columns.in + w] += top_gradient[at + ow];
      }
    }
  });
}

void average_forward_plain(const Device& device, const PoolingShape& shape, const float* bottom,
                           float* top) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  for_each_plane(device, shape, [=](std::int64_t plane) {
    const float* const image = bottom + plane * rows.in * columns.in;
    float sums[kStrip];
    for (std::int64_t oh = 0; oh < rows.out; ++oh) {
      for (std::int64_t strip = 0; strip < columns.out; strip += kStrip) {
        const std::int64_t width = std::min(kStrip, columns.out - strip);
        std::fill(sums, sums + width, 0.0f);
        for_each_tap(rows, columns, image, oh, strip, width,
                     [&](std::int64_t first, std::int64_t last, const float* from, auto stride,
                         std::int64_t) {
                       for (std::int64_t o = first; o < last; ++o) sums[o] += from[o * stride];
                     });
        float* const y = top + (plane * rows.out + oh) * columns.out + strip;
        for (std::int64_t o = 0; o < width; ++o) {
          y[o] = sums[o] / static_cast<float>(rows.divisor(oh) * columns.divisor(strip + o));
        }
      }
    }
  });
}

void average_backward_plain(const Device& device, const PoolingShape& shape,
                            const float* top_gradient, float* bottom_gradient) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  for_each_plane(device, shape, [=](std::int64_t plane) {
    float* const image = bottom_gradient + plane * rows.in * columns.in;
    std::fill(image, image + rows.in * columns.in, 0.0f);
    for (std::int64_t oh = 0; oh < rows.out; ++oh) {
      const float* const dy = top_gradient + (plane * rows.out + oh) * columns.out;
      const Span high = rows.window(oh);
      for (std::int64_t ow = 0; ow < columns.out; ++ow) {
        const Span wide = columns.window(ow);
        const float share = dy[ow] / static_cast<float>(rows.divisor(oh) * columns.divisor(ow));
        for (std::int64_t h = high.first; h < high.last; ++h) {
          float* const dx = image + h * columns.in;
          for (std::int64_t w = wide.first; w < wide.last; ++w) dx[w] += share;
        }
      }
    }
  });
}

#define CREMA_INSTANTIATE(Index)                                                                   \
  template void max_forward_plain(const Device&, const PoolingShape&, const float*, float*,        \
                                  Index*);                                                         \
  template void max_backward_plain(const Device&, const PoolingShape&, const float*, const Index*, \
                                   float*)
CREMA_INSTANTIATE(std::uint8_t);
CREMA_INSTANTIATE(std::int32_t);
#undef CREMA_INSTANTIATE

}  // namespace crema::loops
