// How many windows Caffe's pooling has, for the layers made of it.
#pragma once

#include <cstdint>
#include <string>

namespace crema {

/// One axis of a pooling's window.
struct PoolingWindow {
  std::int64_t kernel = 1, stride = 1, pad = 0;
};

/// The output size of an axis: round((in + 2*pad - kernel) / stride) + 1, rounded up or (`floor`)
/// down, in float as Caffe does it; with `clip` (there is padding on any axis) a last window that
/// would start at or past in + pad is dropped. A user error where there is no window, or where one
/// lies outside of the image. `axis` is its name in errors ("height").
std::int64_t pooled_size(const std::string& axis, std::int64_t in, const PoolingWindow& window,
                         bool clip, bool floor);

}  // namespace crema
