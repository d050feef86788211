// One index is one row of memory that nobody else writes, so that the inner loop runs along it and
// col2im needs no atomic sums. Compiled twice (kernels/device_tags.h).
#include "primitives/im2col.h"

#include "kernels/instantiate.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "primitives/column_rows.h"

namespace crema::loops {

template <class D, class T>
void im2col(const Device& device, const ColumnShape& shape, const T* image, T* columns) {
  // One index is one row of output positions of one row of the matrix.
  parallel_for(
      D{}, device, shape.channels * shape.kernel_count * shape.out_rows,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const int last = shape.axes - 1;
        const std::int64_t out = shape.out[last];
        T* const to = columns + i * out;
        const std::int64_t tap = i / shape.out_rows % shape.kernel_count;
        const std::int64_t channel = i / shape.out_rows / shape.kernel_count;
        const std::int64_t kernel = shape.kernel[last];
        const std::int64_t row = image_row(shape, i % shape.out_rows, tap / kernel);
        if (row < 0) {
          for (std::int64_t o = 0; o < out; ++o) to[o] = 0;
          return;
        }
        const std::int64_t offset = tap % kernel * shape.dilation[last] - shape.pad[last];
        const std::int64_t stride = shape.stride[last];
        const T* const from = image + (channel * shape.in_rows + row) * shape.in[last];
        const TapRange range(out, shape.in[last], stride, offset);
        for (std::int64_t o = 0; o < range.first; ++o) to[o] = 0;
        if (stride == 1) {
          for (std::int64_t o = range.first; o < range.last; ++o) to[o] = from[o + offset];
        } else {
          for (std::int64_t o = range.first; o < range.last; ++o) to[o] = from[o * stride + offset];
        }
        for (std::int64_t o = range.last; o < out; ++o) to[o] = 0;
      },
      shape.out[shape.axes - 1] + 16);
}

template <class D, class T>
void col2im(const Device& device, const ColumnShape& shape, const T* columns, T* image) {
  // One index is one row of the image: it takes what falls on it, so that no two indices write one
  // place.
  parallel_for(
      D{}, device, shape.channels * shape.in_rows,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const int last = shape.axes - 1;
        const std::int64_t in = shape.in[last];
        const std::int64_t out = shape.out[last];
        const std::int64_t kernel = shape.kernel[last];
        const std::int64_t stride = shape.stride[last];
        const std::int64_t channel = i / shape.in_rows;
        T* const to = image + i * in;
        for (std::int64_t w = 0; w < in; ++w) to[w] = 0;
        for (std::int64_t outer = 0; outer < shape.kernel_count / kernel; ++outer) {
          const std::int64_t out_row = window_row(shape, i % shape.in_rows, outer);
          if (out_row < 0) continue;
          const std::int64_t first_tap = channel * shape.kernel_count + outer * kernel;
          for (std::int64_t k = 0; k < kernel; ++k) {
            const T* const from = columns + ((first_tap + k) * shape.out_rows + out_row) * out;
            const std::int64_t offset = k * shape.dilation[last] - shape.pad[last];
            const TapRange range(out, in, stride, offset);
            if (stride == 1) {
              for (std::int64_t o = range.first; o < range.last; ++o) to[o + offset] += from[o];
            } else {
              for (std::int64_t o = range.first; o < range.last; ++o) {
                to[o * stride + offset] += from[o];
              }
            }
          }
        }
      },
      shape.kernel_count * shape.in[shape.axes - 1] + 16);
}

#ifdef __CUDACC__

CREMA_CUDA_LOOP("im2col", &im2col<Cuda, float>)
CREMA_CUDA_LOOP("col2im", &col2im<Cuda, float>)

#else

ColumnShape::ColumnShape(const ConvolutionShape& shape) : channels(shape.in_channels) {
  axes = static_cast<int>(shape.in.size());
  for (int axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    in[axis] = shape.in[i];
    out[axis] = shape.out[i];
    kernel[axis] = shape.kernel[i];
    stride[axis] = shape.stride[i];
    pad[axis] = shape.pad[i];
    dilation[axis] = shape.dilation[i];
    identity = identity && kernel[axis] == 1 && stride[axis] == 1 && pad[axis] == 0 &&
               in[axis] == out[axis];
  }
  if (axes == 0) {
    axes = 1;
    in[0] = out[0] = kernel[0] = stride[0] = dilation[0] = 1;
    pad[0] = 0;
  }
  for (int axis = 0; axis < axes; ++axis) {
    in_rows = in_count;
    out_rows = out_count;
    in_count *= in[axis];
    out_count *= out[axis];
    kernel_count *= kernel[axis];
  }
}

#define CREMA_INSTANTIATE(T)                                                  \
  template void im2col<Cpu>(const Device&, const ColumnShape&, const T*, T*); \
  template void col2im<Cpu>(const Device&, const ColumnShape&, const T*, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

#endif

}  // namespace crema::loops
