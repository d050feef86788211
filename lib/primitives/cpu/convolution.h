// Convolution by oneDNN with channels-last activations.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "primitives/convolution.h"

namespace crema::cpu {

/// The layouts of oneDNN's convolution for this shape; nothing where make_onednn_convolution()
/// would decline in any layout.
std::optional<ConvolutionLayouts> onednn_convolution_layouts(Device& device,
                                                             const ConvolutionShape& shape,
                                                             bool bottom_gradient,
                                                             bool param_gradients);

/// Null and a reason when oneDNN should not run this shape with these layouts.
std::unique_ptr<Convolution> make_onednn_convolution(Device& device, const ConvolutionShape& shape,
                                                     const Layout& bottom, const Layout& top,
                                                     const Layout& weights, bool bottom_gradient,
                                                     bool param_gradients, std::string* refusal);

}  // namespace crema::cpu
