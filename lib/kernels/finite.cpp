// A float is finite if its exponent bits are not all ones: its bits without the sign, as an
// integer, are then below those of infinity. The largest of them tells about all, and a maximum of
// integers, unlike a sum of floats, may be taken in any order, so the loop vectorises.
#include "kernels/finite.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "kernels/parallel_for.h"

namespace crema {

bool all_finite(const Device& device, std::int64_t n, const float* x) {
  constexpr std::uint32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;
  std::atomic<bool> finite = true;
  std::atomic<bool>* const result = &finite;
  parallel_ranges(device, n, 1, [=](std::int64_t begin, std::int64_t end) {
    std::uint32_t largest = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & kMagnitude);
    }
    if (largest >= kInfinity) result->store(false, std::memory_order_relaxed);
  });
  return finite;
}

}  // namespace crema
