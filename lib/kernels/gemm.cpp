// Products in float are oneDNN's.
#include <dnnl.h>

#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/thread_scope.h"

namespace crema {
namespace {

/// C = beta * C; beta 0 overwrites.
void scale_matrix(std::int64_t m, std::int64_t n, float beta, float* c, std::int64_t ldc) {
  if (beta == 1) return;
  for (std::int64_t i = 0; i < m; ++i) {
    float* const row = c + i * ldc;
    for (std::int64_t j = 0; j < n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
  }
}

}  // namespace

void gemm(const Device& device, Transpose a_transposed, Transpose b_transposed, std::int64_t m,
          std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda,
          const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0 || alpha == 0) {
    scale_matrix(m, n, beta, c, ldc);
    return;
  }
  const ThreadScope threads(device);
  const dnnl_status_t status =
      dnnl_sgemm(static_cast<char>(a_transposed), static_cast<char>(b_transposed), m, n, k, alpha,
                 a, lda, b, ldb, beta, c, ldc);
  require(status != dnnl_out_of_memory, "out of memory in a matrix product");
  CREMA_ASSERT(status == dnnl_success);
}

}  // namespace crema
