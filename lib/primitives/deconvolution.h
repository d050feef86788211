// Deconvolution forward and backward, N-D: a convolution's passes with their roles exchanged.
#pragma once

#include <vector>

#include "primitives/convolution.h"

namespace crema {

/// y[n,o,q] = b[o] + sum of x[n,c,p] * W[c,o,k] over c in group, p and k with
/// q = p*stride - pad + k*dilation.
///
/// A deconvolution's shape is a ConvolutionShape whose `in` and `in_channels` are those of its
/// bottom and `out` and `out_channels` those of its top. This is the convolution (without bias)
/// from its top to its bottom: forward is that one's backward_bottom, and the weights, in_channels
/// x out_channels/groups x kernel, are the same memory.
ConvolutionShape transpose_of(const ConvolutionShape& deconvolution);

/// As convolution_layouts() and plan_convolution(): what is planned takes and gives the
/// deconvolution's blobs.
std::vector<ConvolutionLayouts> deconvolution_layouts(Device& device, const ConvolutionShape& shape,
                                                      bool bottom_gradient = true,
                                                      bool param_gradients = true);
ConvolutionPlan plan_deconvolution(Device& device, const ConvolutionShape& shape,
                                   const Layout& bottom, const Layout& top, const Layout& weights,
                                   bool bottom_gradient, bool param_gradients);

}  // namespace crema
