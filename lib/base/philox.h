// Counter-based random numbers: Philox 4x32 with 10 rounds (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011). A value depends only on its key and counter, so it is the
// same on every device and for any number of threads, need not be stored, and survives a restart.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#ifdef __CUDACC__
#define CREMA_PHILOX_HD __host__ __device__
#else
#define CREMA_PHILOX_HD
#endif

namespace crema {

struct Philox4 {
  std::uint32_t x[4];
};

/// One block of four 32-bit values for a 128-bit counter and a 64-bit key.
CREMA_PHILOX_HD inline Philox4 philox(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter.x[0];
    const std::uint64_t product1 = kMultiplier1 * counter.x[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.x[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.x[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

/// Uniform in [0, 1): the upper 24 bits.
CREMA_PHILOX_HD inline float philox_uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

/// One independent stream of random numbers, addressed by (step, element).
///
/// `seed` is the user's, `stream` tells apart what draws (a layer, a parameter's filler, a data
/// source; see stream_id), `step` is the forward pass or record, `element` the index within it.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Four 32-bit values; elements 4*block .. 4*block+3 of `step`.
  CREMA_PHILOX_HD Philox4 block(std::uint64_t step, std::uint64_t block) const {
    const std::uint64_t mixed = stream_ ^ (block >> 32 << 40);
    return philox(
        {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(mixed),
          static_cast<std::uint32_t>(step),
          static_cast<std::uint32_t>(mixed >> 32) ^ static_cast<std::uint32_t>(step >> 32)}},
        static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32));
  }
  CREMA_PHILOX_HD std::uint32_t bits(std::uint64_t step, std::uint64_t element) const {
    return block(step, element / 4).x[element % 4];
  }
  /// Uniform in [0, 1).
  CREMA_PHILOX_HD float uniform(std::uint64_t step, std::uint64_t element) const {
    return philox_uniform(bits(step, element));
  }
  /// Uniform in 0 .. n-1.
  CREMA_PHILOX_HD std::uint32_t below(std::uint64_t step, std::uint64_t element,
                                      std::uint32_t n) const {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits(step, element)) * n) >> 32);
  }

 private:
  std::uint64_t seed_, stream_;
};

/// The stream that belongs to a name: FNV-1a, so that a snapshot means the same on every machine.
constexpr std::uint64_t stream_id(std::string_view name, std::uint64_t index = 0) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return (hash ^ index) * 0x100000001b3ull;
}

}  // namespace crema
