// Arrays seen as outer x channels x inner, with one value for every channel (or pair of channel and
// something else), and the loop over them that knows at each element which channel it is of.
//
//   for_each_in_channels(Tag{}, device, axis, [=] CREMA_LOOP_BODY(std::int64_t i, std::int64_t c) {
//     y[i] = x[i] * gamma[c];
//   });
//
// Images N x C x H x W are {N, C, H * W} in plain order and {N * H * W, C, 1} with channels last.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel_for.h"

namespace crema {

struct ChannelAxis {
  std::int64_t outer = 1, channels = 1, inner = 1;

  CREMA_FUNCTOR std::int64_t count() const { return outer * channels * inner; }
};

#ifndef __CUDACC__

/// The body must not read what it wrote at another index; an array may be both read and written at
/// the index itself. (So the compiler may vectorise without asking where the arrays lie.)
template <class Body>
void for_each_in_channels(Cpu, const Device& device, const ChannelAxis& axis, const Body& body,
                          std::int64_t cost = 1) {
  parallel_ranges(device, axis.count(), cost, [=](std::int64_t begin, std::int64_t end) {
    // Runs of elements: along the channels if these lie side by side, else along one channel.
    const bool side_by_side = axis.inner == 1;
    const std::int64_t length = side_by_side ? axis.channels : axis.inner;
    std::int64_t run = begin / length;
    for (std::int64_t i = begin; i < end; ++run) {
      const std::int64_t first = run * length;
      const std::int64_t last = std::min(first + length, end);
      if (side_by_side) {
#pragma GCC ivdep
        for (std::int64_t j = i; j < last; ++j) body(j, j - first);
      } else {
        const std::int64_t channel = run % axis.channels;
#pragma GCC ivdep
        for (std::int64_t j = i; j < last; ++j) body(j, channel);
      }
      i = last;
    }
  });
}

#else

template <class Body>
void for_each_in_channels(Cuda, const Device& device, const ChannelAxis& axis, Body body,
                          std::int64_t = 1) {
  const std::int64_t channels = axis.channels, inner = axis.inner;
  parallel_for(Cuda{}, device, axis.outer * channels * inner,
               [=] CREMA_LOOP_BODY(std::int64_t i) { body(i, i / inner % channels); });
}

#endif

}  // namespace crema
