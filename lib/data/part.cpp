// Rows have a loop of their own for each kind of value and mean, so that the compiler vectorises
// them.
#include "data/part.h"

#include <algorithm>

namespace crema {
namespace {

/// One row: (in - mean) * scale, with a mean for the row or one for each of its elements.
template <class Value, bool kMeanRow>
void write_row(const Value* __restrict in, const float* __restrict mean_row, float mean,
               float scale, std::int64_t width, float* __restrict out) {
  for (std::int64_t x = 0; x < width; ++x) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): mean_row is there when kMeanRow says so
    out[x] = (static_cast<float>(in[x]) - (kMeanRow ? mean_row[x] : mean)) * scale;
  }
}

/// The same, written from the right. The compiler vectorises the reversal of floats, but not one
/// that comes with a conversion, hence in two steps.
template <class Value, bool kMeanRow>
void write_row_mirrored(const Value* __restrict in, const float* __restrict mean_row, float mean,
                        float scale, std::int64_t width, float* __restrict out) {
  constexpr std::int64_t kPart = 256;
  float part[kPart];
  for (std::int64_t x = 0; x < width; x += kPart) {
    const std::int64_t count = std::min(kPart, width - x);
    write_row<Value, kMeanRow>(in + x, kMeanRow ? mean_row + x : nullptr, mean, scale, count, part);
    float* __restrict to = out + width - x - count;
    for (std::int64_t i = 0; i < count; ++i) to[i] = part[count - 1 - i];
  }
}

}  // namespace

template <class Value>
void write_part(const Part<Value>& in, const Part<float>& mean, const Normalization& normalization,
                std::int64_t channels, PictureSize size, bool mirror, float* out) {
  const auto row = mean.at ? (mirror ? write_row_mirrored<Value, true> : write_row<Value, true>)
                           : (mirror ? write_row_mirrored<Value, false> : write_row<Value, false>);
  // Whole rows that are not mirrored are one long row, which is quicker where they are short.
  const bool whole = !mirror && in.row == size.width && (!mean.at || mean.row == size.width);
  if (whole) size = {1, size.count()};
  const std::vector<float>& values = normalization.mean_values;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float value =
        values.empty() ? 0 : values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    const Value* from = in.at + c * in.plane;
    const float* mean_row = mean.at ? mean.at + c * mean.plane : nullptr;
    for (std::int64_t y = 0; y < size.height; ++y, from += in.row, out += size.width) {
      row(from, mean_row, value, normalization.scale, size.width, out);
      if (mean_row) mean_row += mean.row;
    }
  }
}

template void write_part(const Part<std::uint8_t>&, const Part<float>&, const Normalization&,
                         std::int64_t, PictureSize, bool, float*);
template void write_part(const Part<float>&, const Part<float>&, const Normalization&, std::int64_t,
                         PictureSize, bool, float*);

}  // namespace crema
