// The layouts that primitives agree on, and the change from one to another.
#pragma once

#include "tensor/tensor.h"

namespace crema {

/// Channels last (N x spatial x C) of a blob N x C x spatial (3 to 5 axes). Where that is the same
/// memory as plain order (one channel, or one spatial position) the result is plain, so that no
/// reorder is ever made for it.
Layout channels_last(const Shape& shape);
bool is_channels_last(const Layout& layout);

/// The layout of inner-product weights (num_output x K) whose K axis is permuted as channels-last
/// input of shape `bottom` (N x C x spatial) has it. Plain where channels_last(bottom) is plain.
Layout channels_last_weights(std::int64_t num_output, const Shape& bottom);

/// Copies between tensors of the same shape in any two layouts. Padding of the target becomes zero.
void reorder(const Tensor& from, const Tensor& to);

}  // namespace crema
