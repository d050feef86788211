// Sums are our own, because they must come out the same each time for a given number of threads and
// keep double precision where floats would lose it.
#include "kernels/blas.h"

#include <algorithm>
#include <vector>

#include "kernels/parallel_for.h"

namespace crema {
namespace {

// Sums are cut into one piece a thread of the device and added in the order of the pieces, so that
// they depend on the number of threads but not on which thread came first.
std::int64_t pieces_of(const Device& device, std::int64_t n, std::int64_t grain) {
  return std::clamp<std::int64_t>(n / grain, 1, device.threads());
}

/// Sum of f(i) in double over [begin, end), in 16 interleaved partial sums that fit vector
/// registers.
template <class Value>
double lane_sum(std::int64_t begin, std::int64_t end, const Value& value) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += value(i + lane);
  }
  double sum = 0;
  for (; i < end; ++i) sum += value(i);
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class Value>
double parallel_sum(const Device& device, std::int64_t n, const Value& value) {
  if (n <= 0) return 0;
  const std::int64_t pieces = pieces_of(device, n, kParallelGrain / 2);
  if (pieces == 1) return lane_sum(0, n, value);
  double sums[kMaxThreads];
  double* const partial = sums;
  parallel_ranges(device, pieces, n / pieces, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      partial[p] = lane_sum(n * p / pieces, n * (p + 1) / pieces, value);
    }
  });
  double sum = 0;
  for (std::int64_t p = 0; p < pieces; ++p) sum += sums[p];
  return sum;
}

/// sums[j] += sum over `rows` rows of x, in float within 64 rows and in double beyond.
void add_rows(std::int64_t rows, std::int64_t n, const float* x, double* sums) {
  constexpr std::int64_t kColumns = 256;
  constexpr std::int64_t kRows = 64;
  float block[kColumns];
  for (std::int64_t first = 0; first < n; first += kColumns) {
    const std::int64_t width = std::min(kColumns, n - first);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const float* from = x + row * n + first;
      const std::int64_t height = std::min(kRows, rows - row);
      std::fill(block, block + width, 0.0f);
      std::int64_t i = 0;
      for (; i + 4 <= height; i += 4, from += 4 * n) {
        for (std::int64_t j = 0; j < width; ++j) {
          block[j] += (from[j] + from[n + j]) + (from[2 * n + j] + from[3 * n + j]);
        }
      }
      for (; i < height; ++i, from += n) {
        for (std::int64_t j = 0; j < width; ++j) block[j] += from[j];
      }
      for (std::int64_t j = 0; j < width; ++j) sums[first + j] += static_cast<double>(block[j]);
    }
  }
}

}  // namespace

void axpy(const Device& device, std::int64_t n, float a, const float* x, float* y) {
  parallel_for(Cpu{}, device, n, [=](std::int64_t i) { y[i] += a * x[i]; });
}

void fill(const Device& device, std::int64_t n, float a, float* x) {
  parallel_for(Cpu{}, device, n, [=](std::int64_t i) { x[i] = a; });
}

void sum_rows(const Device& device, std::int64_t m, std::int64_t n, const float* x, bool accumulate,
              float* y) {
  if (n <= 0) return;
  // Short rows are taken several at a time, so that the inner loop is long enough to vectorise.
  const std::int64_t fold = std::max<std::int64_t>(1, 64 / n);
  const std::int64_t wide = fold * n;
  const std::int64_t wide_rows = std::max<std::int64_t>(m, 0) / fold;
  const std::int64_t pieces =
      pieces_of(device, wide_rows, std::max<std::int64_t>(1, kParallelGrain / wide));
  constexpr std::int64_t kFew = 4096;  // what the usual layers need is not worth the heap
  double few[kFew];
  std::vector<double> many(static_cast<std::size_t>(pieces * wide > kFew ? pieces * wide : 0));
  double* const partial = many.empty() ? few : many.data();
  std::fill(partial, partial + pieces * wide, 0.0);
  parallel_ranges(device, pieces, wide_rows * wide / pieces,
                  [=](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t p = begin; p < end; ++p) {
                      const std::int64_t first = wide_rows * p / pieces;
                      const std::int64_t last = wide_rows * (p + 1) / pieces;
                      add_rows(last - first, wide, x + first * wide, partial + p * wide);
                    }
                  });
  for (std::int64_t p = 1; p < pieces * fold; ++p) {
    for (std::int64_t j = 0; j < n; ++j) partial[j] += partial[p * n + j];
  }
  for (std::int64_t i = wide_rows * fold; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) partial[j] += static_cast<double>(x[i * n + j]);
  }
  for (std::int64_t j = 0; j < n; ++j) {
    const float sum = static_cast<float>(partial[j]);
    y[j] = accumulate ? y[j] + sum : sum;
  }
}

double sum(const Device& device, std::int64_t n, const float* x) {
  return parallel_sum(device, n, [x](std::int64_t i) { return static_cast<double>(x[i]); });
}

double sum_of_squares(const Device& device, std::int64_t n, const float* x) {
  return parallel_sum(device, n, [x](std::int64_t i) {
    const double value = static_cast<double>(x[i]);
    return value * value;
  });
}

}  // namespace crema
