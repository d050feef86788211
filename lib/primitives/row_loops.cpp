// Compiled twice (kernels/device_tags.h).
#include "primitives/row_loops.h"

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/row_chunks.h"

namespace crema {
namespace loops {

/// Rows are few and short here (streams x units): small chunks give each thread some.
constexpr std::int64_t kChunk = 128;

template <class D, class T>
void add_repeated_rows(const Device& device, std::int64_t rows, std::int64_t n, std::int64_t period,
                       const T* added, T* to) {
  const RowChunks chunks = row_chunks(D{}, n, kChunk);
  parallel_for(
      D{}, device, rows * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = chunks.row(i), end = chunks.end(i);
        const T* const x = added + row % period * n;
        T* const y = to + row * n;
        for (std::int64_t j = chunks.begin(i); j < end; ++j) y[j] += x[j];
      },
      chunks.size);
}

template <class D, class T>
void scale_rows(const Device& device, std::int64_t rows, std::int64_t n, const T* factors,
                const T* from, T* to) {
  const RowChunks chunks = row_chunks(D{}, n, kChunk);
  parallel_for(
      D{}, device, rows * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = chunks.row(i), end = chunks.end(i);
        const T factor = factors[row];
        const T* const x = from + row * n;
        T* const y = to + row * n;
        for (std::int64_t j = chunks.begin(i); j < end; ++j) y[j] = factor * x[j];
      },
      chunks.size);
}

template <class D, class T>
void add_scaled_rows(const Device& device, std::int64_t rows, std::int64_t n, const T* base,
                     const T* factors, const T* from, T* to) {
  const RowChunks chunks = row_chunks(D{}, n, kChunk);
  parallel_for(
      D{}, device, rows * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = chunks.row(i), end = chunks.end(i);
        const T factor = factors[row];
        const T* const a = base + row * n;
        const T* const x = from + row * n;
        T* const y = to + row * n;
        for (std::int64_t j = chunks.begin(i); j < end; ++j) y[j] = a[j] + factor * x[j];
      },
      chunks.size);
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("add_repeated_rows", &loops::add_repeated_rows<Cuda, float>)
CREMA_CUDA_LOOP("scale_rows", &loops::scale_rows<Cuda, float>)
CREMA_CUDA_LOOP("add_scaled_rows", &loops::add_scaled_rows<Cuda, float>)

#else

void add_repeated_rows(Device& device, std::int64_t rows, std::int64_t n, std::int64_t period,
                       const float* added, float* to) {
  run_loop(device, "add_repeated_rows", &loops::add_repeated_rows<Cpu, float>, rows, n, period,
           added, to);
}

void scale_rows(Device& device, std::int64_t rows, std::int64_t n, const float* factors,
                const float* from, float* to) {
  run_loop(device, "scale_rows", &loops::scale_rows<Cpu, float>, rows, n, factors, from, to);
}

void add_scaled_rows(Device& device, std::int64_t rows, std::int64_t n, const float* base,
                     const float* factors, const float* from, float* to) {
  run_loop(device, "add_scaled_rows", &loops::add_scaled_rows<Cpu, float>, rows, n, base, factors,
           from, to);
}

#endif

}  // namespace crema
