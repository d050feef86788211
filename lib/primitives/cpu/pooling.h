// Pooling by oneDNN, for the windows that it has as Caffe has them.
#pragma once

#include <memory>
#include <string>

#include "primitives/pooling.h"

namespace crema::cpu {

/// Null and a reason when oneDNN should not run this shape. `mask`: write_mask will be called.
std::unique_ptr<Pooling> make_onednn_pooling(Device& device, const PoolingShape& shape,
                                             const Layout& layout, bool backward, bool mask,
                                             std::string* refusal);

}  // namespace crema::cpu
