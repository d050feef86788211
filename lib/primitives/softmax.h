// Softmax along one axis, stable: exp(x - max) / sum. NaN stays NaN.
#pragma once

#include "tensor/tensor.h"

namespace crema {

/// The blob seen as outer x classes x inner, plain.
struct SoftmaxShape {
  std::int64_t outer = 0, classes = 0, inner = 1;
};

template <class T>
void softmax_forward(const Device& device, const SoftmaxShape& shape, const T* bottom, T* top);
/// dx = (dy - sum of dy*y) * y. dx may be dy.
template <class T>
void softmax_backward(const Device& device, const SoftmaxShape& shape, const T* top,
                      const T* top_gradient, T* bottom_gradient);

}  // namespace crema
