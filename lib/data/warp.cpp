// Row by row: first, for all pixels of it, where they come from, in a loop that is vectorised; then
// each channel's values by that list.
#include "data/warp.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace crema {
namespace {

/// One axis of the source: places are held within it and split into a pixel and the way to the
/// next.
struct Axis {
  explicit Axis(std::int64_t length)
      : last(static_cast<double>(length - 1)),
        last_first(std::max(0.0, static_cast<double>(length - 2))) {}

  double first_of(double place) const { return std::min(std::floor(place), last_first); }
  double hold(double place) const {
    const double low = place > 0 ? place : 0;
    return low < last ? low : last;
  }

  double last, last_first;
};

void find_row(const LinearMap& map, std::int64_t y, std::int64_t width, PictureSize from,
              WarpScratch* scratch) {
  const Axis rows(from.height), columns(from.width);
  const double row = map.row + map.row_y * static_cast<double>(y);
  const double column = map.column + map.column_y * static_cast<double>(y);
  const auto stride = static_cast<std::int32_t>(from.width);
  std::int32_t* __restrict const corners = scratch->corners.data();
  float* __restrict const down = scratch->down.data();
  float* __restrict const right = scratch->right.data();
  const auto count = static_cast<std::int32_t>(width);
  for (std::int32_t x = 0; x < count; ++x) {
    const double at_row = rows.hold(row + map.row_x * x);
    const double at_column = columns.hold(column + map.column_x * x);
    const double first_row = rows.first_of(at_row), first_column = columns.first_of(at_column);
    corners[x] =
        static_cast<std::int32_t>(first_row) * stride + static_cast<std::int32_t>(first_column);
    down[x] = static_cast<float>(at_row - first_row);
    right[x] = static_cast<float>(at_column - first_column);
  }
}

template <class Value>
void sample_row(const Value* __restrict plane, std::int64_t to_right, std::int64_t to_below,
                std::int64_t width, const WarpScratch& scratch, float* __restrict out) {
  const std::int32_t* __restrict const corners = scratch.corners.data();
  const float* __restrict const down = scratch.down.data();
  const float* __restrict const right = scratch.right.data();
  for (std::int64_t x = 0; x < width; ++x) {
    const Value* const at = plane + corners[x];
    const auto top_left = static_cast<float>(at[0]);
    const auto top_right = static_cast<float>(at[to_right]);
    const auto bottom_left = static_cast<float>(at[to_below]);
    const auto bottom_right = static_cast<float>(at[to_below + to_right]);
    const float top = top_left + right[x] * (top_right - top_left);
    const float bottom = bottom_left + right[x] * (bottom_right - bottom_left);
    out[x] = top + down[x] * (bottom - top);
  }
}

}  // namespace

LinearMap resizing_map(PictureSize from, PictureSize to) {
  LinearMap map;
  map.row_y = static_cast<double>(from.height) / static_cast<double>(to.height);
  map.column_x = static_cast<double>(from.width) / static_cast<double>(to.width);
  map.row = 0.5 * map.row_y - 0.5;
  map.column = 0.5 * map.column_x - 0.5;
  return map;
}

template <class Value>
void warp(const Value* planes, std::int64_t channels, PictureSize from, const LinearMap& map,
          PictureSize to, WarpScratch* scratch, float* out) {
  CREMA_ASSERT(from.count() > 0 && from.count() <= kMaxPixels && to.count() <= kMaxPixels);
  scratch->corners.resize(static_cast<std::size_t>(to.width));
  scratch->down.resize(static_cast<std::size_t>(to.width));
  scratch->right.resize(static_cast<std::size_t>(to.width));
  // In a source of one row or column there is no next one.
  const std::int64_t to_right = from.width > 1 ? 1 : 0;
  const std::int64_t to_below = from.height > 1 ? from.width : 0;
  for (std::int64_t y = 0; y < to.height; ++y) {
    find_row(map, y, to.width, from, scratch);
    for (std::int64_t c = 0; c < channels; ++c) {
      sample_row(planes + c * from.count(), to_right, to_below, to.width, *scratch,
                 out + c * to.count() + y * to.width);
    }
  }
}

template void warp(const std::uint8_t*, std::int64_t, PictureSize, const LinearMap&, PictureSize,
                   WarpScratch*, float*);
template void warp(const float*, std::int64_t, PictureSize, const LinearMap&, PictureSize,
                   WarpScratch*, float*);

}  // namespace crema
