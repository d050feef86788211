// Copies of a box of elements between two arrays in which it lies with different strides: what
// concatenating, slicing, cropping and tiling are made of.
#pragma once

#include <cstdint>

#include "kernels/device_tags.h"
#include "tensor/device.h"
#include "tensor/shape.h"

namespace crema {

/// The box: its axes and, for each, the distance of neighbours in both arrays. A from-stride of 0
/// repeats what is there; no two elements may have one place in the target.
class StridedCopy {
 public:
  /// Adds an axis, the outermost first. Axes that lie in both arrays as one become one.
  void add_axis(std::int64_t size, std::int64_t from_stride, std::int64_t to_stride);

  int axes() const { return axes_; }
  std::int64_t count() const { return count_; }
  /// Of the innermost axis.
  std::int64_t row_length() const { return size_[axes_ - 1]; }
  std::int64_t row_from_stride() const { return from_stride_[axes_ - 1]; }
  std::int64_t row_to_stride() const { return to_stride_[axes_ - 1]; }

  /// Where element `i` of the box, in row-major order, lies in both arrays.
  struct Place {
    std::int64_t from, to;
  };
  CREMA_FUNCTOR Place place(std::int64_t i) const {
    Place place{0, 0};
    for (int axis = axes_ - 1; axis >= 0; --axis) {
      const std::int64_t outer = i / size_[axis];
      const std::int64_t at = i - outer * size_[axis];
      place.from += at * from_stride_[axis];
      place.to += at * to_stride_[axis];
      i = outer;
    }
    return place;
  }

 private:
  static constexpr int kMaxAxes = Shape::kMaxAxes + 1;

  int axes_ = 0;
  std::int64_t count_ = 1;
  std::int64_t size_[kMaxAxes] = {}, from_stride_[kMaxAxes] = {}, to_stride_[kMaxAxes] = {};
};

/// The arrays must not overlap.
void strided_copy(Device& device, const StridedCopy& box, const float* from, float* to);

}  // namespace crema
