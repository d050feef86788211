// The loop version of convolution as an engine.
#pragma once

#include <memory>

#include "primitives/convolution.h"

namespace crema {

/// Bottom and top plain; weights in any layout (converted at every call unless plain).
std::unique_ptr<Convolution> make_loop_convolution(Device& device, const ConvolutionShape& shape,
                                                   const Layout& weights);

}  // namespace crema
