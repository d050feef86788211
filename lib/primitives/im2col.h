// The patches of an image as a matrix, and back: what the loop version of convolution is made of.
#pragma once

#include <cstdint>

#include "kernels/device_tags.h"
#include "primitives/convolution.h"
#include "tensor/device.h"
#include "tensor/shape.h"

namespace crema::loops {

/// The geometry of one image, in a form that a device loop can carry. An image without spatial axes
/// is one position.
struct ColumnShape {
  explicit ColumnShape(const ConvolutionShape& shape);

  std::int64_t channels = 0;
  int axes = 1;
  std::int64_t in[Shape::kMaxAxes], out[Shape::kMaxAxes], kernel[Shape::kMaxAxes];
  std::int64_t stride[Shape::kMaxAxes], pad[Shape::kMaxAxes], dilation[Shape::kMaxAxes];
  // Products over all axes, and over all but the last.
  std::int64_t in_count = 1, out_count = 1, kernel_count = 1;
  std::int64_t in_rows = 1, out_rows = 1;
  /// The matrix is the image itself.
  bool identity = true;
};

/// columns (channels*kernel x out) from image (channels x in).
template <class D, class T>
void im2col(const Device& device, const ColumnShape& shape, const T* image, T* columns);
/// The transpose: overwrites image with the sums of what lies on each position.
template <class D, class T>
void col2im(const Device& device, const ColumnShape& shape, const T* columns, T* image);

}  // namespace crema::loops
