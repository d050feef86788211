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
#include <type_traits>

#include "kernels/channel_axis.h"
#include "kernels/loop_registry.h"

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

using Floats4 = float __attribute__((vector_size(16)));
using Doubles4 = double __attribute__((vector_size(32)));

/// Adds the terms of four elements.
template <class Terms, int kSum>
[[gnu::always_inline]] inline void add_four(const float* a, const float* b, Doubles4& sums) {
  Floats4 x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  Terms::template add<kSum>(__builtin_convertvector(x, Doubles4),
                            __builtin_convertvector(y, Doubles4), sums);
}

template <class Terms, int kSum>
[[gnu::always_inline]] inline void add_one(float a, float b, double& sum) {
  Terms::template add<kSum>(static_cast<double>(a), static_cast<double>(b), sum);
}

/// Adds the terms of elements [begin, end) to sums[kSum].
template <class Terms, int kSum>
void add_row(const float* a, const float* b, std::int64_t begin, std::int64_t end, double* sums) {
  std::int64_t i = begin;
  Doubles4 lanes[4] = {};
  for (; i + 16 <= end; i += 16) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      add_four<Terms, kSum>(a + i + 4 * part, b + i + 4 * part, lanes[part]);
    }
  }
  const Doubles4 four = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  double sum = (four[0] + four[1]) + (four[2] + four[3]);
  for (; i < end; ++i) add_one<Terms, kSum>(a[i], b[i], sum);
  sums[kSum] += sum;
}

/// A channel's part of a piece, where it lies in rows of `inner` elements.
template <class Terms>
void sum_rows(const ChannelPieces& pieces, const float* a, const float* b, std::int64_t piece,
              std::int64_t channel, double* sums) {
  const ChannelAxis& axis = pieces.axis;
  const std::int64_t begin = pieces.inner_begin(piece), end = pieces.inner_end(piece);
  for (std::int64_t o = pieces.outer_begin(piece); o < pieces.outer_end(piece); ++o) {
    const std::int64_t row = (o * axis.channels + channel) * axis.inner;
    // The second sum finds the row in the cache.
    add_row<Terms, 0>(a, b, row + begin, row + end, sums);
    if constexpr (Terms::kSums > 1) add_row<Terms, 1>(a, b, row + begin, row + end, sums);
  }
}

/// Channels that are summed side by side: their sums stay in the nearest cache.
constexpr std::int64_t kBlock = 256;

/// A piece of channels that lie side by side, for `width` channels from `first` on.
template <class Terms>
void sum_columns(const ChannelPieces& pieces, const float* a, const float* b, std::int64_t piece,
                 std::int64_t first, std::int64_t width, double (*sums)[kBlock]) {
  const auto add = [=](auto number, std::int64_t begin, std::int64_t end) {
    constexpr int kSum = decltype(number)::value;
    const std::int64_t channels = pieces.axis.channels;
    double* const to = sums[kSum];
    std::int64_t o = begin;
    for (; o + 4 <= end; o += 4) {
      const float* const x = a + o * channels + first;
      const float* const y = b + o * channels + first;
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = to[c];
#pragma GCC unroll 4
        for (int row = 0; row < 4; ++row) {
          add_one<Terms, kSum>(x[row * channels + c], y[row * channels + c], sum);
        }
        to[c] = sum;
      }
    }
    for (; o < end; ++o) {
      const std::int64_t i = o * channels + first;
      for (std::int64_t c = 0; c < width; ++c) add_one<Terms, kSum>(a[i + c], b[i + c], to[c]);
    }
  };
  // So few rows at a time that the second sum finds them in the cache.
  constexpr std::int64_t kRows = 16;
  const std::int64_t end = pieces.outer_end(piece);
  for (std::int64_t o = pieces.outer_begin(piece); o < end; o += kRows) {
    add(std::integral_constant<int, 0>{}, o, std::min(o + kRows, end));
    if constexpr (Terms::kSums > 1) {
      add(std::integral_constant<int, 1>{}, o, std::min(o + kRows, end));
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
        double sums[Terms::kSums][kBlock] = {};
        sum_columns<Terms>(pieces, a, b, piece, first, width, sums);
        for (int k = 0; k < Terms::kSums; ++k) {
          std::copy_n(sums[k], width, partials + (piece * Terms::kSums + k) * channels + first);
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
