// Changes of layout on the CPU.
#pragma once

#include "tensor/tensor.h"

namespace crema::cpu {

/// Copies `shape` floats from one layout to another.
void reorder(Device& device, const Shape& shape, const Layout& from_layout, const float* from,
             const Layout& to_layout, float* to);

}  // namespace crema::cpu
