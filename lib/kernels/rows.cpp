// Indices are checked apart from the loops that follow them: who finds a bad one has to say where
// in the data it came from, and a loop cannot.
#include "kernels/rows.h"

namespace crema {

CREMA_CUDA_LOOP("gather_rows", &gather_rows<Cuda, float>)
CREMA_CUDA_LOOP("scatter_add_rows", &scatter_add_rows<Cuda, float>)

}  // namespace crema

#ifndef __CUDACC__
#include <vector>

namespace crema {

std::int64_t first_bad_index(const Tensor& index, std::int64_t rows) {
  const std::int64_t n = index.elements();
  std::vector<float> copy;
  const float* values = index.read();
  if (index.device().kind() != DeviceKind::kCpu) {
    copy.resize(static_cast<std::size_t>(n));
    index.copy_to_host(copy.data());
    values = copy.data();
  }
  const auto limit = static_cast<double>(rows);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!(value > -1 && value < limit)) return i;
  }
  return -1;
}

}  // namespace crema
#endif
