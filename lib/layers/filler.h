// First values of parameters: Caffe's fillers.
//
// fan_in = count / shape[0], fan_out = count / shape[1] (count, if there is one axis); n is fan_in,
// fan_out or their mean by variance_norm.
//
//     constant            value
//     uniform             U[min, max)
//     gaussian            N(mean, std); sparse s >= 0: kept with probability s / shape[0], else 0
//     positive_unitball   U[0, 1), then each slice along axis 0 divided by its sum
//     xavier              U[-a, a), a = sqrt(3 / n)
//     msra                N(0, sqrt(2 / n))
//     bilinear            the kernel of linear interpolation, for 4-D weights with square kernels
//
// Values depend only on the stream, the step and the position: not on threads, device or
// construction order.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "caffe.pb.h"
#include "tensor/device.h"
#include "tensor/shape.h"

namespace crema {

/// Fails (user error) where the filler is not one for this shape.
void check_filler(const caffe::FillerParameter& filler, const Shape& shape);

/// Writes shape.count() values in plain order to host memory, by the threads of `device`. The
/// filler must have passed check_filler() for this shape.
void fill(const Device& device, const caffe::FillerParameter& filler, const Shape& shape,
          const RandomStream& stream, float* values, std::uint64_t step = 0);

}  // namespace crema
