// The shapes of a convolution's blobs, in one place so that layer, engines and tests cannot
// disagree about them.
#include "primitives/convolution.h"

namespace crema {
namespace {

Shape with_spatial(std::int64_t first, std::int64_t second,
                   const std::vector<std::int64_t>& spatial) {
  std::vector<std::int64_t> dims{first, second};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return Shape(std::move(dims));
}

}  // namespace

Shape ConvolutionShape::bottom() const { return with_spatial(batch, in_channels, in); }
Shape ConvolutionShape::top() const { return with_spatial(batch, out_channels, out); }
Shape ConvolutionShape::weights() const {
  return with_spatial(out_channels, in_channels / groups, kernel);
}
std::int64_t ConvolutionShape::multiply_adds() const {
  return top().count() * (in_channels / groups) * Shape(kernel).count();
}

}  // namespace crema
