// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3, in Caffe's
// scaling) and within a channel.
#pragma once

#include "tensor/tensor.h"

namespace crema {

/// s = k + (alpha / size) * sum of x^2 over channels c-(size-1)/2 .. c+(size-1)/2; y = x * s^-beta.
struct LrnShape {
  std::int64_t batch = 0, channels = 0, spatial = 0;
  std::int64_t size = 5;
  float alpha = 1, beta = 0.75f, k = 1;
};

/// Plain (channel planes) or channels-last. Oversized windows are cut at the borders.
void lrn_forward(const LrnShape& shape, const Tensor& bottom, const Tensor& top);
/// dx_i = dy_i * s_i^-beta - (2 * alpha * beta / size) * x_i * sum_j dy_j * y_j / s_j, s computed
/// again from bottom.
void lrn_backward(const LrnShape& shape, const Tensor& bottom, const Tensor& top_gradient,
                  const Tensor& bottom_gradient);

/// The loop version on plain layout in T = float or double: the reference in tests.
template <class T>
void lrn_forward_loop(const Device& device, const LrnShape& shape, const T* bottom, T* top);
template <class T>
void lrn_backward_loop(const Device& device, const LrnShape& shape, const T* bottom,
                       const T* top_gradient, T* bottom_gradient);

}  // namespace crema
