// How rows of an image and rows of windows meet: the index arithmetic that im2col.cpp and
// depthwise.cpp share, for every device. A row is the memory along the last axis; `tap` is a
// position in the kernel without that axis.
#pragma once

#include <cstdint>

#include "kernels/device_tags.h"
#include "primitives/im2col.h"

namespace crema::loops {

/// The part [first, last) of [0, out) whose positions o*stride + offset lie in [0, in).
struct TapRange {
  CREMA_FUNCTOR TapRange(std::int64_t out, std::int64_t in, std::int64_t stride,
                         std::int64_t offset) {
    first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    last = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
    if (last > out) last = out;
    if (first > last) first = last;
  }
  std::int64_t first, last;
};

/// The row of the image that `tap` of the windows in row `out_row` looks at; -1 outside.
CREMA_FUNCTOR inline std::int64_t image_row(const ColumnShape& shape, std::int64_t out_row,
                                            std::int64_t tap) {
  std::int64_t row = 0;
  std::int64_t rows = 1;
  for (int axis = shape.axes - 2; axis >= 0; --axis) {
    const std::int64_t at = out_row % shape.out[axis] * shape.stride[axis] - shape.pad[axis] +
                            tap % shape.kernel[axis] * shape.dilation[axis];
    if (at < 0 || at >= shape.in[axis]) return -1;
    row += at * rows;
    rows *= shape.in[axis];
    out_row /= shape.out[axis];
    tap /= shape.kernel[axis];
  }
  return row;
}

/// The row of windows whose `tap` looks at row `in_row` of the image; -1 where there is none.
CREMA_FUNCTOR inline std::int64_t window_row(const ColumnShape& shape, std::int64_t in_row,
                                             std::int64_t tap) {
  std::int64_t row = 0;
  std::int64_t rows = 1;
  for (int axis = shape.axes - 2; axis >= 0; --axis) {
    const std::int64_t at =
        in_row % shape.in[axis] + shape.pad[axis] - tap % shape.kernel[axis] * shape.dilation[axis];
    const std::int64_t o = at / shape.stride[axis];
    if (at < 0 || o * shape.stride[axis] != at || o >= shape.out[axis]) return -1;
    row += o * rows;
    rows *= shape.out[axis];
    in_row /= shape.in[axis];
    tap /= shape.kernel[axis];
  }
  return row;
}

}  // namespace crema::loops
