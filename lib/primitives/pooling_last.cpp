// Pooling of channels-last blobs. Rows of channels are taken in blocks of vectors that stay in
// registers while the window passes; backward gathers, so that every gradient is written once.
#include <algorithm>
#include <cfloat>
#include <type_traits>

#include "kernels/parallel_for.h"
#include "kernels/simd.h"
#include "primitives/pooling_loops.h"

namespace crema::loops {
namespace {

constexpr std::int64_t kLanes = 8;

/// Calls body(c, vectors) for blocks of that many vectors of channels. The last vector may overlap
/// the one before: what it does twice gives the same both times. Fewer channels than a vector has
/// go one by one (0 vectors).
template <class Body>
[[gnu::always_inline]] inline void for_channel_blocks(std::int64_t channels, const Body& body) {
  std::int64_t c = 0;
  if (channels < kLanes) {
    for (; c < channels; ++c) body(c, std::integral_constant<int, 0>{});
    return;
  }
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) body(c, std::integral_constant<int, 4>{});
  if (c + 2 * kLanes <= channels) {
    body(c, std::integral_constant<int, 2>{});
    c += 2 * kLanes;
  }
  if (c + kLanes <= channels) {
    body(c, std::integral_constant<int, 1>{});
    c += kLanes;
  }
  if (c < channels) body(channels - kLanes, std::integral_constant<int, 1>{});
}

/// A window on the input of one image.
struct Window {
  const float* first;          ///< its first pixel that exists
  std::int64_t rows, columns;  ///< pixels that exist
  std::int64_t place;          ///< of the first pixel in the whole window
  std::int64_t channels, in_row, kernel_w;
};

template <int kVectors, class Index>
[[gnu::always_inline]] inline void max_block(const Window& window, std::int64_t c, float* y,
                                             Index* winners) {
  if constexpr (kVectors == 0) {
    float best = -FLT_MAX;
    Index winner = kNoWinner<Index>;
    for (std::int64_t h = 0; h < window.rows; ++h) {
      for (std::int64_t w = 0; w < window.columns; ++w) {
        const float x = window.first[h * window.in_row + w * window.channels + c];
        if (x > best) {
          best = x;
          winner = static_cast<Index>(window.place + h * window.kernel_w + w);
        }
      }
    }
    y[c] = best;
    if (winners != nullptr) winners[c] = winner;
  } else {
    Floats8 best[kVectors];
    Ints8 winner[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      best[v] = Floats8{} - FLT_MAX;
      winner[v] = Ints8{} - 1;
    }
    for (std::int64_t h = 0; h < window.rows; ++h) {
      const float* from = window.first + h * window.in_row + c;
      auto place = static_cast<std::int32_t>(window.place + h * window.kernel_w);
      for (std::int64_t w = 0; w < window.columns; ++w, ++place, from += window.channels) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          Floats8 x;
          load(from + v * kLanes, x);
          const Ints8 better = x > best[v];
          best[v] = better ? x : best[v];
          winner[v] = better ? Ints8{} + place : winner[v];
        }
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(best[v], y + c + v * kLanes);
    if (winners == nullptr) return;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(winner[v], winners + c + v * kLanes);
  }
}

template <int kVectors>
[[gnu::always_inline]] inline void average_block(const Window& window, std::int64_t c,
                                                 float divisor, float* y) {
  if constexpr (kVectors == 0) {
    float sum = 0;
    for (std::int64_t h = 0; h < window.rows; ++h) {
      for (std::int64_t w = 0; w < window.columns; ++w) {
        sum += window.first[h * window.in_row + w * window.channels + c];
      }
    }
    y[c] = sum / divisor;
  } else {
    Floats8 sum[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[v] = Floats8{};
    for (std::int64_t h = 0; h < window.rows; ++h) {
      const float* from = window.first + h * window.in_row + c;
      for (std::int64_t w = 0; w < window.columns; ++w, from += window.channels) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          Floats8 x;
          load(from + v * kLanes, x);
          sum[v] += x;
        }
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sum[v] / divisor, y + c + v * kLanes);
  }
}

/// Calls body(window, oh, ow, offset of the output pixel) for all windows.
template <class Body>
void for_each_window(const Device& device, const PoolingShape& shape, const float* bottom,
                     const Body& body) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const std::int64_t channels = shape.channels;
  const std::int64_t cost = shape.out_w * shape.kernel_h * shape.kernel_w * channels / 4;
  parallel_ranges(device, shape.batch * rows.out, cost, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t oh = i % rows.out;
      const Span high = rows.window(oh);
      const float* const image = bottom + i / rows.out * rows.in * columns.in * channels;
      for (std::int64_t ow = 0; ow < columns.out; ++ow) {
        const Span wide = columns.window(ow);
        const Window window{
            image + (high.first * columns.in + wide.first) * channels,
            high.last - high.first,
            wide.last - wide.first,
            (high.first - rows.start(oh)) * columns.kernel + wide.first - columns.start(ow),
            channels,
            columns.in * channels,
            columns.kernel};
        body(window, oh, ow, (i * columns.out + ow) * channels);
      }
    }
  });
}

/// Calls body(n, rows that see it, columns that see it, h, w, offset of the pixel) for all inputs.
template <class Body>
void for_each_input(const Device& device, const PoolingShape& shape, const Body& body) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const std::int64_t channels = shape.channels;
  parallel_ranges(device, shape.batch * rows.in, columns.in * channels,
                  [=](std::int64_t begin, std::int64_t end) {
                    // The windows of each column are found once, for a strip of columns at a time.
                    constexpr std::int64_t kStrip = 256;
                    Span wide[kStrip];
                    for (std::int64_t strip = 0; strip < columns.in; strip += kStrip) {
                      const std::int64_t width = std::min(kStrip, columns.in - strip);
                      for (std::int64_t j = 0; j < width; ++j) wide[j] = columns.windows(strip + j);
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t h = i % rows.in;
                        const Span high = rows.windows(h);
                        for (std::int64_t j = 0; j < width; ++j) {
                          const std::int64_t w = strip + j;
                          body(i / rows.in, high, wide[j], h, w, (i * columns.in + w) * channels);
                        }
                      }
                    }
                  });
}

template <int kVectors, class Index>
[[gnu::always_inline]] inline void max_gather(const PoolAxis& rows, const PoolAxis& columns,
                                              Span high, Span wide, std::int64_t h, std::int64_t w,
                                              std::int64_t channels, const float* dy,
                                              const Index* winners, std::int64_t c, float* dx) {
  constexpr int kCount = std::max(kVectors, 1);
  Floats8 sums[kCount];
  float sum = 0;
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = Floats8{};
  for (std::int64_t oh = high.first; oh < high.last; ++oh) {
    for (std::int64_t ow = wide.first; ow < wide.last; ++ow) {
      const std::int64_t at = (oh * columns.out + ow) * channels + c;
      const auto place =
          static_cast<std::int32_t>((h - rows.start(oh)) * columns.kernel + w - columns.start(ow));
      if constexpr (kVectors == 0) {
        if (winners[at] == static_cast<Index>(place)) sum += dy[at];
      } else {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          Ints8 winner;
          Floats8 gradient;
          load(winners + at + v * kLanes, winner);
          load(dy + at + v * kLanes, gradient);
          sums[v] += winner == place ? gradient : Floats8{};
        }
      }
    }
  }
  if constexpr (kVectors == 0) {
    dx[c] = sum;
  } else {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums[v], dx + c + v * kLanes);
  }
}

template <int kVectors>
[[gnu::always_inline]] inline void average_gather(const PoolAxis& rows, const PoolAxis& columns,
                                                  Span high, Span wide, std::int64_t channels,
                                                  const float* dy, std::int64_t c, float* dx) {
  constexpr int kCount = std::max(kVectors, 1);
  Floats8 sums[kCount];
  float sum = 0;
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = Floats8{};
  for (std::int64_t oh = high.first; oh < high.last; ++oh) {
    for (std::int64_t ow = wide.first; ow < wide.last; ++ow) {
      const std::int64_t at = (oh * columns.out + ow) * channels + c;
      const float share = 1.0f / static_cast<float>(rows.divisor(oh) * columns.divisor(ow));
      if constexpr (kVectors == 0) {
        sum += dy[at] * share;
      } else {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          Floats8 gradient;
          load(dy + at + v * kLanes, gradient);
          sums[v] += gradient * share;
        }
      }
    }
  }
  if constexpr (kVectors == 0) {
    dx[c] = sum;
  } else {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums[v], dx + c + v * kLanes);
  }
}

}  // namespace

template <class Index>
void max_forward_last(const Device& device, const PoolingShape& shape, const float* bottom,
                      float* top, Index* winners) {
  for_each_window(device, shape, bottom,
                  [=](const Window& window, std::int64_t, std::int64_t, std::int64_t at) {
                    Index* const own = winners == nullptr ? nullptr : winners + at;
                    for_channel_blocks(window.channels, [&](std::int64_t c, auto vectors) {
                      max_block<decltype(vectors)::value>(window, c, top + at, own);
                    });
                  });
}

template <class Index>
void max_backward_last(const Device& device, const PoolingShape& shape, const float* top_gradient,
                       const Index* winners, float* bottom_gradient) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const std::int64_t channels = shape.channels;
  const std::int64_t image = rows.out * columns.out * channels;
  for_each_input(
      device, shape,
      [=](std::int64_t n, Span high, Span wide, std::int64_t h, std::int64_t w, std::int64_t at) {
        for_channel_blocks(channels, [&](std::int64_t c, auto vectors) {
          max_gather<decltype(vectors)::value>(rows, columns, high, wide, h, w, channels,
                                               top_gradient + n * image, winners + n * image, c,
                                               bottom_gradient + at);
        });
      });
}

void average_forward_last(const Device& device, const PoolingShape& shape, const float* bottom,
                          float* top) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  for_each_window(device, shape, bottom,
                  [=](const Window& window, std::int64_t oh, std::int64_t ow, std::int64_t at) {
                    const auto divisor = static_cast<float>(rows.divisor(oh) * columns.divisor(ow));
                    for_channel_blocks(window.channels, [&](std::int64_t c, auto vectors) {
                      average_block<decltype(vectors)::value>(window, c, divisor, top + at);
                    });
                  });
}

void average_backward_last(const Device& device, const PoolingShape& shape,
                           const float* top_gradient, float* bottom_gradient) {
  const PoolAxis rows = rows_of(shape);
  const PoolAxis columns = columns_of(shape);
  const std::int64_t channels = shape.channels;
  const std::int64_t image = rows.out * columns.out * channels;
  for_each_input(
      device, shape,
      [=](std::int64_t n, Span high, Span wide, std::int64_t, std::int64_t, std::int64_t at) {
        for_channel_blocks(channels, [&](std::int64_t c, auto vectors) {
          average_gather<decltype(vectors)::value>(rows, columns, high, wide, channels,
                                                   top_gradient + n * image, c,
                                                   bottom_gradient + at);
        });
      });
}

#define CREMA_INSTANTIATE(Index)                                                                  \
  template void max_forward_last(const Device&, const PoolingShape&, const float*, float*,        \
                                 Index*);                                                         \
  template void max_backward_last(const Device&, const PoolingShape&, const float*, const Index*, \
                                  float*)
CREMA_INSTANTIATE(std::uint8_t);
CREMA_INSTANTIATE(std::int32_t);
#undef CREMA_INSTANTIATE

}  // namespace crema::loops
