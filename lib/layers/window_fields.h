// The fields of layers whose windows move over spatial axes: what Convolution, Deconvolution and
// Im2col read from convolution_param, and the rule of lists that Pooling has too.
//
// kernel_size, stride, pad and dilation are given once for all axes or once an axis; kernel, stride
// and pad for two axes as _h and _w as well.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "caffe.pb.h"
#include "tensor/shape.h"

namespace crema {

using Sizes = std::vector<std::int64_t>;

/// A repeated field of one value for all `axes` spatial axes or one for each; `otherwise` where it
/// is not given. `name` is the whole name, for errors.
template <class Field>
Sizes per_axis(const char* name, const Field& field, std::size_t axes, std::int64_t otherwise) {
  const auto given = static_cast<std::size_t>(field.size());
  require(given <= 1 || given == axes,
          "{} is given {} times for {} spatial axes; give it once or once an axis", name, given,
          axes);
  if (given == 0) return Sizes(axes, otherwise);
  Sizes values;
  for (std::size_t i = 0; i < axes; ++i) {
    values.push_back(static_cast<std::int64_t>(field[static_cast<int>(given == 1 ? 0 : i)]));
  }
  return values;
}

/// Each value is at least 1.
void require_positive(const char* name, const Sizes& values);

/// One entry a spatial axis.
struct WindowFields {
  Sizes kernel, stride, pad, dilation;

  /// What a window spans on an axis, dilation * (kernel - 1) + 1; nothing where 64 bits do not hold
  /// it.
  std::optional<std::int64_t> extent(std::size_t axis) const;
  /// "3 (dilation 2, so 5)", for errors.
  std::string kernel_text(std::size_t axis) const;
};

/// Checked, for a bottom of this number of spatial axes. Errors name convolution_param's fields.
WindowFields window_fields(const caffe::ConvolutionParameter& parameter, std::size_t axes);

/// How many windows there are on each axis from `first_axis` on: (in + 2*pad - extent) / stride +
/// 1, the division cut towards zero. At least 1, else a user error.
Sizes window_counts(const WindowFields& windows, const Shape& bottom, int first_axis);

}  // namespace crema
