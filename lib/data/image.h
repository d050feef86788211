// A picture as it lies in memory before transformation.
#pragma once

#include <cstdint>

#include "tensor/shape.h"

namespace crema {

/// Planes in C, H, W order, either bytes (unsigned) or floats; owned by somebody else.
struct ImageView {
  std::int64_t channels = 0, height = 0, width = 0;
  const std::uint8_t* bytes = nullptr;
  const float* floats = nullptr;  ///< used when `bytes` is null

  Shape shape() const { return {channels, height, width}; }
};

/// `; 28x28x3 looks like height x width x channels, Caffe wants channels first`, or "" for shapes
/// that do not.
std::string channels_first_hint(const Shape& image);

}  // namespace crema
