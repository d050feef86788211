// One loop index is up to 16 neighbours of a row: enough for the CPU's inner loop to vectorise, and
// for a GPU still many more than there are rows. Compiled twice (kernels/device_tags.h).
#include "primitives/row_loops.h"

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {

constexpr std::int64_t kBlock = 16;

CREMA_FUNCTOR inline std::int64_t block_end(std::int64_t first, std::int64_t n) {
  return first + kBlock < n ? first + kBlock : n;
}

template <class D, class T>
void add_repeated_rows(const Device& device, std::int64_t rows, std::int64_t n, std::int64_t period,
                       const T* added, T* to) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  parallel_for(
      D{}, device, rows * blocks,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = i / blocks, first = i % blocks * kBlock;
        const std::int64_t end = block_end(first, n);
        const T* const x = added + row % period * n;
        T* const y = to + row * n;
        for (std::int64_t j = first; j < end; ++j) y[j] += x[j];
      },
      kBlock);
}

template <class D, class T>
void scale_rows(const Device& device, std::int64_t rows, std::int64_t n, const T* factors,
                const T* from, T* to) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  parallel_for(
      D{}, device, rows * blocks,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = i / blocks, first = i % blocks * kBlock;
        const std::int64_t end = block_end(first, n);
        const T factor = factors[row];
        const T* const x = from + row * n;
        T* const y = to + row * n;
        for (std::int64_t j = first; j < end; ++j) y[j] = factor * x[j];
      },
      kBlock);
}

template <class D, class T>
void add_scaled_rows(const Device& device, std::int64_t rows, std::int64_t n, const T* base,
                     const T* factors, const T* from, T* to) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  parallel_for(
      D{}, device, rows * blocks,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t row = i / blocks, first = i % blocks * kBlock;
        const std::int64_t end = block_end(first, n);
        const T factor = factors[row];
        const T* const a = base + row * n;
        const T* const x = from + row * n;
        T* const y = to + row * n;
        for (std::int64_t j = first; j < end; ++j) y[j] = a[j] + factor * x[j];
      },
      kBlock);
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
