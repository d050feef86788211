// The last step of transform_param: a part of a picture, minus mean, times scale, mirrored or not.
#pragma once

#include <cstdint>
#include <vector>

#include "data/image.h"
#include "data/views.h"

namespace crema {

/// Part of a picture or of a mean image: its first pixel, and the way to the next row and plane.
template <class Value>
struct Part {
  const Value* at = nullptr;
  std::int64_t row = 0, plane = 0;
};

/// The part of planes of `view.frame` that a view takes; nothing of nothing.
template <class Value>
Part<Value> part_of(const Value* planes, const View& view) {
  if (!planes) return {};
  return {planes + view.top * view.frame.width + view.left, view.frame.width, view.frame.count()};
}

/// The mean and what is multiplied with.
struct Normalization {
  float scale = 1;
  std::vector<float> mean_values;  ///< none, one, or one a channel; used without a mean image
};

/// Writes `size` pixels of all channels: (in - mean) * scale, in floats, from the right when
/// mirrored. The mean is that of `mean` at the same place, if there is one.
template <class Value>
void write_part(const Part<Value>& in, const Part<float>& mean, const Normalization& normalization,
                std::int64_t channels, PictureSize size, bool mirror, float* out);

}  // namespace crema
