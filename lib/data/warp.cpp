// Row by row: first, for all pixels of it, where they come from, in a loop that is vectorised; then
// each channel's values by that list.
#include "data/warp.h"

#include <algorithm>

#include "base/error.h"

namespace crema {
namespace {

/// One axis of the source: places are held within it and split into a pixel and the way to the
/// next.
struct Axis {
  explicit Axis(std::int64_t length)
      : last(static_cast<double>(length - 1)),
        last_first(static_cast<std::int32_t>(std::max<std::int64_t>(0, length - 2))) {}

  double hold(double place) const {
    const double low = place > 0 ? place : 0;
    return low < last ? low : last;
  }
  /// Of a place that is held.
  std::int32_t first_of(double place) const {
    const auto whole = static_cast<std::int32_t>(place);
    return whole < last_first ? whole : last_first;
  }

  double last;
  std::int32_t last_first;
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
    const std::int32_t first_row = rows.first_of(at_row);
    const std::int32_t first_column = columns.first_of(at_column);
    corners[x] = first_row * stride + first_column;
    down[x] = static_cast<float>(at_row - first_row);
    right[x] = static_cast<float>(at_column - first_column);
  }
}

float between(float from, float to, float way) { return from + way * (to - from); }

void sample_row(const float* __restrict plane, std::int64_t to_right, std::int64_t to_below,
                std::int64_t width, const WarpScratch& scratch, float* __restrict out) {
  const std::int32_t* __restrict const corners = scratch.corners.data();
  const float* __restrict const down = scratch.down.data();
  const float* __restrict const right = scratch.right.data();
  for (std::int64_t x = 0; x < width; ++x) {
    const float* const at = plane + corners[x];
    const float top = between(at[0], at[to_right], right[x]);
    const float bottom = between(at[to_below], at[to_below + to_right], right[x]);
    out[x] = between(top, bottom, down[x]);
  }
}

/// The four pixels around each place in one number, from the lowest byte on.
template <bool kNext>
void pick_fours(const std::uint8_t* __restrict plane, std::int64_t to_below, std::int64_t width,
                const std::int32_t* __restrict corners, std::uint32_t* __restrict fours) {
  for (std::int64_t x = 0; x < width; ++x) {
    const std::uint8_t* const top = plane + corners[x];
    const std::uint8_t* const bottom = top + to_below;
    fours[x] = static_cast<std::uint32_t>(top[0]) | static_cast<std::uint32_t>(top[kNext]) << 8 |
               static_cast<std::uint32_t>(bottom[0]) << 16 |
               static_cast<std::uint32_t>(bottom[kNext]) << 24;
  }
}

/// Bytes are picked one by one; what is calculated with them is vectorised.
void sample_row(const std::uint8_t* plane, std::int64_t to_right, std::int64_t to_below,
                std::int64_t width, WarpScratch& scratch, float* __restrict out) {
  const auto pick = to_right == 1 ? pick_fours<true> : pick_fours<false>;
  pick(plane, to_below, width, scratch.corners.data(), scratch.fours.data());
  const std::uint32_t* __restrict const fours = scratch.fours.data();
  const float* __restrict const down = scratch.down.data();
  const float* __restrict const right = scratch.right.data();
  const auto byte = [](std::uint32_t four, int index) {
    return static_cast<float>(static_cast<std::int32_t>(four >> (8 * index) & 255U));
  };
  for (std::int64_t x = 0; x < width; ++x) {
    const float top = between(byte(fours[x], 0), byte(fours[x], 1), right[x]);
    const float bottom = between(byte(fours[x], 2), byte(fours[x], 3), right[x]);
    out[x] = between(top, bottom, down[x]);
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
  scratch->fours.resize(static_cast<std::size_t>(to.width));
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
