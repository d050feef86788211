// Sums over all elements of each channel (kernels/channel_axis.h).
//
// What is summed is a struct without members, of one array or of two:
//
//   struct Products {
//     static constexpr const char* kName = "channel_sums.products";  // in the CUDA plugin's table
//     static constexpr int kSums = 1;
//     template <int kSum, class D>
//     CREMA_FUNCTOR static void add(const D& a, const D& b, D& sum) { sum += a * b; }
//   };
//
// D is double or a vector of doubles: by them neither the length of the array nor cancellation
// costs accuracy: the square of a float is exact in a double. The arrays are cut into pieces whose
// number depends on the axis alone, and sums of pieces are added in order, so that the result is
// the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/channel_axis.h"
#include "kernels/loop_registry.h"

#ifndef __CUDACC__
#include "kernels/simd.h"
#endif

namespace crema {

/// The pieces of an axis: `groups` of neighbours along outer, times `slices` along inner.
struct ChannelPieces {
  explicit ChannelPieces(const ChannelAxis& whole) : axis(whole) {
    if (axis.channels == 1) axis = {1, 1, axis.outer * axis.inner};
    constexpr std::int64_t kSlice = 8192, kEnough = 512, kRows = 64;
    slices = std::max<std::int64_t>((axis.inner + kSlice - 1) / kSlice, 1);
    const std::int64_t most = std::max<std::int64_t>(axis.outer, 1);
    if (axis.inner == 1) {
      groups = std::clamp<std::int64_t>(axis.outer / kRows, 1, kEnough);
    } else {
      groups = std::clamp<std::int64_t>(kEnough / std::max<std::int64_t>(axis.channels * slices, 1),
                                        1, most);
    }
  }
  std::int64_t pieces() const { return groups * slices; }
  CREMA_FUNCTOR std::int64_t outer_begin(std::int64_t piece) const {
    return axis.outer * (piece / slices) / groups;
  }
  CREMA_FUNCTOR std::int64_t outer_end(std::int64_t piece) const {
    return axis.outer * (piece / slices + 1) / groups;
  }
  CREMA_FUNCTOR std::int64_t inner_begin(std::int64_t piece) const {
    return axis.inner * (piece % slices) / slices;
  }
  CREMA_FUNCTOR std::int64_t inner_end(std::int64_t piece) const {
    return axis.inner * (piece % slices + 1) / slices;
  }

  ChannelAxis axis;
  std::int64_t groups = 1, slices = 1;
};

/// Bytes of scratch for channel_sums().
inline std::size_t channel_sums_bytes(const ChannelAxis& axis, int sums) {
  return static_cast<std::size_t>((ChannelPieces(axis).pieces() + 1) * sums * axis.channels) *
         sizeof(double);
}

namespace loops {

#ifndef __CUDACC__

/// Adds the terms of elements a[0..4) and b[0..4) to each sum.
template <class Terms>
[[gnu::always_inline]] inline void add_four(const float* a, const float* b,
                                            Doubles4 (&sums)[Terms::kSums]) {
  Doubles4 left, right;
  load(a, left);
  load(b, right);
  Terms::template add<0>(left, right, sums[0]);
  if constexpr (Terms::kSums > 1) Terms::template add<1>(left, right, sums[1]);
}

template <class Terms>
[[gnu::always_inline]] inline void add_one(float a, float b, double* sums, std::int64_t stride) {
  const double left = a, right = b;
  Terms::template add<0>(left, right, sums[0]);
  if constexpr (Terms::kSums > 1) Terms::template add<1>(left, right, sums[stride]);
}

/// Adds the terms of elements [begin, end) to `sums`.
template <class Terms>
void add_row(const float* a, const float* b, std::int64_t begin, std::int64_t end, double* sums) {
  std::int64_t i = begin;
  Doubles4 lanes[4][Terms::kSums] = {};
  for (; i + 16 <= end; i += 16) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      add_four<Terms>(a + i + 4 * part, b + i + 4 * part, lanes[part]);
    }
  }
  for (int k = 0; k < Terms::kSums; ++k) {
    const Doubles4 four = (lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]);
    sums[k] += (four[0] + four[1]) + (four[2] + four[3]);
  }
  for (; i < end; ++i) add_one<Terms>(a[i], b[i], sums, 1);
}

/// A channel's part of a piece, where it lies in rows of `inner` elements.
template <class Terms>
void sum_rows(const ChannelPieces& pieces, const float* a, const float* b, std::int64_t piece,
              std::int64_t channel, double* sums) {
  const ChannelAxis& axis = pieces.axis;
  const std::int64_t begin = pieces.inner_begin(piece), end = pieces.inner_end(piece);
  for (std::int64_t o = pieces.outer_begin(piece); o < pieces.outer_end(piece); ++o) {
    const std::int64_t row = (o * axis.channels + channel) * axis.inner;
    add_row<Terms>(a, b, row + begin, row + end, sums);
  }
}

/// Channels that are summed side by side: their sums stay in the nearest cache.
constexpr std::int64_t kBlock = 256;

/// Adds rows of channels that lie side by side, for the 4 * kVectors channels from a and b on,
/// whose sums stay in registers meanwhile.
template <class Terms, int kVectors>
[[gnu::always_inline]] inline void add_strip(std::int64_t rows, std::int64_t channels,
                                             const float* a, const float* b, double* sums) {
  Doubles4 own[kVectors][Terms::kSums];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
    for (int k = 0; k < Terms::kSums; ++k) {
      std::memcpy(&own[v][k], sums + k * kBlock + 4 * v, sizeof own[v][k]);
    }
  }
  for (std::int64_t row = 0; row < rows; ++row, a += channels, b += channels) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) add_four<Terms>(a + 4 * v, b + 4 * v, own[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
    for (int k = 0; k < Terms::kSums; ++k) {
      std::memcpy(sums + k * kBlock + 4 * v, &own[v][k], sizeof own[v][k]);
    }
  }
}

/// A piece of channels that lie side by side, for `width` channels from `first` on. Sum k of
/// channel first + c is sums[k * kBlock + c].
template <class Terms>
void sum_columns(const ChannelPieces& pieces, const float* a, const float* b, std::int64_t piece,
                 std::int64_t first, std::int64_t width, double* sums) {
  // So few rows at a time that the next strip finds them in the nearest cache, even where rows lie
  // a power of two apart and so share its sets.
  constexpr std::int64_t kRows = 4;
  const std::int64_t channels = pieces.axis.channels;
  const std::int64_t end = pieces.outer_end(piece);
  for (std::int64_t o = pieces.outer_begin(piece); o < end; o += kRows) {
    const std::int64_t rows = std::min(kRows, end - o);
    const float* const x = a + o * channels + first;
    const float* const y = b + o * channels + first;
    std::int64_t c = 0;
    for (; c + 16 <= width; c += 16) add_strip<Terms, 4>(rows, channels, x + c, y + c, sums + c);
    for (; c + 4 <= width; c += 4) add_strip<Terms, 1>(rows, channels, x + c, y + c, sums + c);
    for (; c < width; ++c) {
      for (std::int64_t row = 0; row < rows; ++row) {
        add_one<Terms>(x[row * channels + c], y[row * channels + c], sums + c, kBlock);
      }
    }
  }
}

/// partials[(piece * kSums + sum) * channels + channel].
template <class Terms>
void sum_pieces(Cpu, const Device& device, const ChannelPieces& pieces, const float* a,
                const float* b, double* partials) {
  const std::int64_t channels = pieces.axis.channels;
  const std::int64_t count = pieces.axis.count();
  if (pieces.axis.inner == 1 && channels > 1) {
    const std::int64_t blocks = (channels + kBlock - 1) / kBlock;
    const std::int64_t tasks = pieces.pieces() * blocks;
    const std::int64_t cost = count / std::max<std::int64_t>(tasks, 1);
    parallel_ranges(device, tasks, cost, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t piece = task / blocks;
        const std::int64_t first = task % blocks * kBlock;
        const std::int64_t width = std::min(kBlock, channels - first);
        double sums[Terms::kSums * kBlock] = {};
        sum_columns<Terms>(pieces, a, b, piece, first, width, sums);
        for (int k = 0; k < Terms::kSums; ++k) {
          std::copy_n(sums + k * kBlock, width,
                      partials + (piece * Terms::kSums + k) * channels + first);
        }
      }
    });
    return;
  }
  const std::int64_t tasks = pieces.pieces() * channels;
  parallel_ranges(device, tasks, count / std::max<std::int64_t>(tasks, 1),
                  [=](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t task = begin; task < end; ++task) {
                      const std::int64_t piece = task / channels;
                      const std::int64_t channel = task % channels;
                      double sums[Terms::kSums] = {};
                      sum_rows<Terms>(pieces, a, b, piece, channel, sums);
                      for (int k = 0; k < Terms::kSums; ++k) {
                        partials[(piece * Terms::kSums + k) * channels + channel] = sums[k];
                      }
                    }
                  });
}

#else

template <class Terms>
void sum_pieces(Cuda, const Device& device, const ChannelPieces& pieces, const float* a,
                const float* b, double* partials) {
  const std::int64_t channels = pieces.axis.channels, inner = pieces.axis.inner;
  parallel_for(Cuda{}, device, pieces.pieces() * channels, [=] CREMA_LOOP_BODY(std::int64_t task) {
    const std::int64_t piece = task / channels, channel = task % channels;
    double first = 0, second = 0;
    for (std::int64_t o = pieces.outer_begin(piece); o < pieces.outer_end(piece); ++o) {
      const std::int64_t row = (o * channels + channel) * inner;
      for (std::int64_t j = pieces.inner_begin(piece); j < pieces.inner_end(piece); ++j) {
        const double x = a[row + j], y = b[row + j];
        Terms::template add<0>(x, y, first);
        if constexpr (Terms::kSums > 1) Terms::template add<1>(x, y, second);
      }
    }
    partials[piece * Terms::kSums * channels + channel] = first;
    if constexpr (Terms::kSums > 1) {
      partials[(piece * Terms::kSums + 1) * channels + channel] = second;
    }
  });
}

#endif

/// scratch: the sums, then those of the pieces.
template <class Tag, class Terms>
void channel_sums(const Device& device, ChannelAxis axis, const float* a, const float* b,
                  double* scratch) {
  const ChannelPieces pieces(axis);
  const std::int64_t n = Terms::kSums * axis.channels;
  double* const partials = scratch + n;
  sum_pieces<Terms>(Tag{}, device, pieces, a, b, partials);
  const std::int64_t count = pieces.pieces();
  parallel_for(
      Tag{}, device, n,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        double sum = 0;
        for (std::int64_t piece = 0; piece < count; ++piece) sum += partials[piece * n + i];
        scratch[i] = sum;
      },
      count);
}

}  // namespace loops

#ifndef __CUDACC__
/// Sum `k` of channel `c` at result[k * channels + c]; the result lies in `scratch`, of
/// channel_sums_bytes(). Terms of one array get it twice.
template <class Terms>
const double* channel_sums(Device& device, const ChannelAxis& axis, const float* a, const float* b,
                           void* scratch) {
  auto* const sums = static_cast<double*>(scratch);
  run_loop(device, Terms::kName, &loops::channel_sums<Cpu, Terms>, axis, a, b, sums);
  return sums;
}
#endif

}  // namespace crema

/// Lists the sums of Terms for the CUDA plugin.
#define CREMA_CHANNEL_SUMS(Terms) \
  CREMA_CUDA_LOOP(Terms::kName, &::crema::loops::channel_sums<::crema::Cuda, Terms>)
