// Products and the elementwise helpers that composed layers and update rules are made of.
//
// Row-major. Float products go to oneDNN's sgemm (94 % of peak on one core and on two; Debian's
// OpenBLAS takes new processors for a Pentium 4). The double versions exist for tests by finite
// differences.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace crema {

enum class Transpose : char { kNo = 'N', kYes = 'T' };

/// C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C, row-major, with leading dimensions
/// as stored. beta 0 overwrites C, whatever it holds.
void gemm(const Device& device, Transpose a_transposed, Transpose b_transposed, std::int64_t m,
          std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda,
          const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);
void gemm(const Device& device, Transpose a_transposed, Transpose b_transposed, std::int64_t m,
          std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
          const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc);

/// y += a * x
void axpy(const Device& device, std::int64_t n, float a, const float* x, float* y);
/// x = a
void fill(const Device& device, std::int64_t n, float a, float* x);
/// y[j] (+)= sum over i of x[i*n + j], i < m: the gradient of a bias. Sums in a fixed order for a
/// given number of threads.
void sum_rows(const Device& device, std::int64_t m, std::int64_t n, const float* x, bool accumulate,
              float* y);
/// Sum, in double.
double sum(const Device& device, std::int64_t n, const float* x);
/// Sum of squares, in double.
double sum_of_squares(const Device& device, std::int64_t n, const float* x);

}  // namespace crema
