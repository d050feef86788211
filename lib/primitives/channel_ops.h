// Work on arrays that have one value for every channel: Scale, Bias, BatchNorm and MVN are made of
// it. ChannelAxis (kernels/channel_axis.h) says how the elements lie; arrays by channel have
// axis.channels values. `scratch` is as large as channel_scratch_bytes() says. The results are the
// same for any number of threads.
#pragma once

#include <cstddef>

#include "kernels/channel_axis.h"
#include "tensor/device.h"

namespace crema {

/// y = (x - shift) * gamma + beta. Null: no shift, a gamma of 1, no beta. y may be x.
struct ChannelAffine {
  const float* shift = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
};
void channel_affine(Device& device, const ChannelAxis& axis, const ChannelAffine& map,
                    const float* x, float* y);

std::size_t channel_scratch_bytes(const ChannelAxis& axis);

/// Gradients of the arrays of an affine map without shift: gamma's is the sum of dy * x, beta's
/// that of dy. Null: not wanted; x is read for gamma alone.
struct AffineGradients {
  float* gamma = nullptr;
  bool gamma_accumulates = false;
  float* beta = nullptr;
  bool beta_accumulates = false;
};
void channel_affine_gradients(Device& device, const ChannelAxis& axis, const float* x,
                              const float* dy, const AffineGradients& to, void* scratch);

/// Sums of channel_sums() (kernels/channel_sums.h) over, or onto, what `to` holds.
void store_channel_sums(Device& device, std::int64_t channels, const double* sums, bool accumulate,
                        float* to);

/// Mean and biased variance of each channel; `variance` null: not wanted.
void channel_moments(Device& device, const ChannelAxis& axis, const float* x, float* mean,
                     float* variance, void* scratch);

/// The gradient through y = (x - mean(x)) * inverse, where `inverse` is one over the deviation of
/// x:  dx = (dy - mean(dy) - y * mean(dy * y)) * inverse. dx may be dy.
void normalized_gradient(Device& device, const ChannelAxis& axis, const float* y, const float* dy,
                         const float* inverse, float* dx, void* scratch);
/// The same where the mean alone was taken away: dx = dy - mean(dy).
void centered_gradient(Device& device, const ChannelAxis& axis, const float* dy, float* dx,
                       void* scratch);

}  // namespace crema
