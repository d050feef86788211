// Convolution with one input channel a group, without patches and products: with so little to do
// for each patch, building it costs more than all the rest.
#pragma once

#include <memory>

#include "primitives/convolution.h"

namespace crema {

/// Whether each output channel sees one input channel only.
bool is_depthwise(const ConvolutionShape& shape);

/// All tensors plain. The shape must be depthwise.
std::unique_ptr<Convolution> make_depthwise_convolution(Device& device,
                                                        const ConvolutionShape& shape);

}  // namespace crema
