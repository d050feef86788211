// Is there a NaN or an infinity among many numbers?
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace crema {

/// True if every x[i], i < n, is a finite number. One sweep at the speed of memory.
bool all_finite(const Device& device, std::int64_t n, const float* x);

}  // namespace crema
