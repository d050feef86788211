// The only code that knows how a loop runs.
//
//   parallel_for(Device_{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) { y[i] = f(x[i]); });
//
// CPU: [0, n) is cut into one range a thread; each thread copies the functor and runs a plain loop
// over its range, which the compiler vectorises. (`omp for simd` over a captured object does not
// vectorise.) Loops that are too small to pay for waking threads run in the caller. The result of a
// loop body must not depend on the cut. CUDA: one thread an index.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/device_tags.h"
#include "tensor/device.h"

#ifdef __CUDACC__
#include "kernels/cuda_plugin.h"
#else
#include <omp.h>

#include <atomic>
#include <exception>
#endif

namespace crema {

/// Work that is worth a second thread, in elementwise operations: about 20 microseconds.
constexpr std::int64_t kParallelGrain = 16384;

#ifndef __CUDACC__

/// Runs body(begin, end) on disjoint ranges that cover [0, n). `cost` is the work of one index in
/// elementwise operations. What a body throws first reaches the caller when all are done.
template <class Body>
void parallel_ranges(const Device& device, std::int64_t n, std::int64_t cost, const Body& body) {
  if (n <= 0) return;
  // All the threads or one: a team of another size than the last would make libgomp end and start
  // threads.
  const bool serial = device.threads() <= 1 || n == 1 ||
                      n * std::max<std::int64_t>(cost, 1) <= kParallelGrain || omp_in_parallel();
  if (serial) {
    body(std::int64_t{0}, n);
    return;
  }
  std::exception_ptr failure;
  std::atomic_flag failed;
#pragma omp parallel num_threads(device.threads())
  {
    const std::int64_t count = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = n * thread / count;
    const std::int64_t end = n * (thread + 1) / count;
    try {
      const Body own = body;
      if (begin < end) own(begin, end);
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

template <class Body>
void parallel_for(Cpu, const Device& device, std::int64_t n, const Body& body,
                  std::int64_t cost = 1) {
  parallel_ranges(device, n, cost, [body](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

#else

namespace cuda {
template <class Body>
__global__ void for_each_index(std::int64_t n, Body body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    body(i);
  }
}
}  // namespace cuda

template <class Body>
void parallel_for(Cuda, const Device& device, std::int64_t n, Body body, std::int64_t = 1) {
  if (n <= 0) return;
  constexpr int kBlock = 256;
  const std::int64_t blocks = std::min<std::int64_t>((n + kBlock - 1) / kBlock, 65535);
  const auto grid = static_cast<unsigned>(blocks);
  const cudaStream_t stream = cuda::stream_of(device);
  // clang-format would tear ">>>" apart.
  // clang-format off
  cuda::for_each_index<<<grid, kBlock, 0, stream>>>(n, body);
  // clang-format on
  cuda::check_launch("parallel_for");
}

#endif

}  // namespace crema
