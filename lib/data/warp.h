// Bilinear sampling of a picture along a linear map: a part of it turned, stretched and enlarged in
// one step, so that nothing is interpolated twice.
//
// OpenCV's warp is not used: it rounds places to 1/32 pixel and values to bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "data/image.h"

namespace crema {

/// The place in the source of a pixel (y, x) of the result. Pixels have their centres at whole
/// numbers.
struct LinearMap {
  double row = 0, row_y = 1, row_x = 0;           ///< row + row_y * y + row_x * x
  double column = 0, column_y = 0, column_x = 1;  ///< likewise
};

/// The map by which resize_image() works: the borders of the two pictures lie on each other.
LinearMap resizing_map(PictureSize from, PictureSize to);

/// Memory of one row.
struct WarpScratch {
  std::vector<std::int32_t> corners;
  std::vector<float> down, right;
  std::vector<std::uint32_t> fours;
};

/// Each plane of the result, `to` pixels in rows, from a plane of the source. What lies outside of
/// the source has the colour of its nearest pixel. For bytes and floats. At most kMaxPixels.
template <class Value>
void warp(const Value* planes, std::int64_t channels, PictureSize from, const LinearMap& map,
          PictureSize to, WarpScratch* scratch, float* out);

}  // namespace crema
