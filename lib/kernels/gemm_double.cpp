// Products in double, for tests by finite differences.
#include <vector>

#include "kernels/blas.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace {

/// op(A) in row-major order without gaps.
std::vector<double> packed(Transpose transposed, std::int64_t rows, std::int64_t columns,
                           const double* a, std::int64_t lda) {
  std::vector<double> result(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      result[static_cast<std::size_t>(i * columns + j)] =
          transposed == Transpose::kYes ? a[j * lda + i] : a[i * lda + j];
    }
  }
  return result;
}

}  // namespace

void gemm(const Device& device, Transpose a_transposed, Transpose b_transposed, std::int64_t m,
          std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
          const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  if (m <= 0 || n <= 0) return;
  for (std::int64_t i = 0; i < m; ++i) {
    double* const row = c + i * ldc;
    for (std::int64_t j = 0; j < n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
  }
  if (k <= 0 || alpha == 0) return;
  const std::vector<double> left = packed(a_transposed, m, k, a, lda);
  const std::vector<double> right = packed(b_transposed, k, n, b, ldb);
  const double* const rows = left.data();
  const double* const columns = right.data();
  constexpr std::int64_t kBlock = 64;  // rows of B that stay in the cache while rows of C pass
  parallel_ranges(device, m, n * k, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = 0; first < k; first += kBlock) {
      const std::int64_t last = std::min(first + kBlock, k);
      for (std::int64_t i = begin; i < end; ++i) {
        double* const to = c + i * ldc;
        for (std::int64_t p = first; p < last; ++p) {
          const double factor = alpha * rows[i * k + p];
          const double* const from = columns + p * n;
          for (std::int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
        }
      }
    }
  });
}

}  // namespace crema
