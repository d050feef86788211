// Loops over the rows of matrices (plain, row-major) that recurrent layers put around their
// products, for every device.
#pragma once

#include "tensor/device.h"

namespace crema {

/// to[r] += added[r % period], for `rows` rows of n.
void add_repeated_rows(Device& device, std::int64_t rows, std::int64_t n, std::int64_t period,
                       const float* added, float* to);

/// to[r] = factors[r] * from[r]
void scale_rows(Device& device, std::int64_t rows, std::int64_t n, const float* factors,
                const float* from, float* to);

/// to[r] = base[r] + factors[r] * from[r]
void add_scaled_rows(Device& device, std::int64_t rows, std::int64_t n, const float* base,
                     const float* factors, const float* from, float* to);

}  // namespace crema
