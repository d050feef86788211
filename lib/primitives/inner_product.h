// Inner product: y (m x n) = x (m x k) * W^T + b, W (n x k), or (k x n) when `transposed`.
#pragma once

#include <type_traits>

#include "tensor/tensor.h"

namespace crema {

struct InnerProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposed = false;
};

/// Adds the bias and, with `relu`, applies max(y, 0) + slope * min(y, 0) in the same sweep. bias
/// may be null.
template <class T>
void inner_product_forward(const Device& device, const InnerProductShape& shape, const T* bottom,
                           const T* weights, const T* bias, bool relu,
                           std::type_identity_t<T> slope, T* top);
template <class T>
void inner_product_backward_bottom(const Device& device, const InnerProductShape& shape,
                                   const T* top_gradient, const T* weights, T* bottom_gradient);
/// weight_gradient and bias_gradient may be null.
template <class T>
void inner_product_backward_params(const Device& device, const InnerProductShape& shape,
                                   const T* bottom, const T* top_gradient, bool accumulate,
                                   T* weight_gradient, bool accumulate_bias, T* bias_gradient);

}  // namespace crema
