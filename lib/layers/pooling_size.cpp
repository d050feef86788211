// Caffe leaves values undefined, and writes outside of arrays, where a window lies outside of the
// image; such nets are refused.
#include "layers/pooling_size.h"

#include <cmath>

#include "base/error.h"
#include "layers/fields.h"

namespace crema {

std::int64_t pooled_size(const std::string& axis, std::int64_t in, const PoolingWindow& window,
                         bool clip, bool floor) {
  const float steps = static_cast<float>(padded_size(in, window.pad) - window.kernel) /
                      static_cast<float>(window.stride);
  std::int64_t out = static_cast<std::int64_t>(floor ? std::floor(steps) : std::ceil(steps)) + 1;
  require(out > 0, "the kernel {} is larger than the padded input: {} {}, pad {} on both sides",
          window.kernel, axis, in, window.pad);
  if (clip && (out - 1) * window.stride >= in + window.pad) --out;
  const std::int64_t last = (out - 1) * window.stride - window.pad;
  require(
      last < in,
      "the last window lies outside of the image: it starts at {} of {} {} (stride {} is larger "
      "than the kernel {}); use round_mode: FLOOR",
      last, axis, in, window.stride, window.kernel);
  return out;
}

}  // namespace crema
