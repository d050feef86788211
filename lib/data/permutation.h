// A random permutation of 0 .. n-1 that needs no memory: each place is computed on its own, so that
// shuffling costs the same for any n and a run can go on in the middle of an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"

namespace crema {

/// Swap-or-not shuffle (Hoang, Morris, Rogaway: "An enciphering scheme based on a card shuffle",
/// CRYPTO 2012): round r pairs x with K_r - x mod n and swaps the pair when a random bit of the
/// pair says so.
class Permutation {
 public:
  /// Permutation number `epoch` of the stream.
  Permutation(const RandomStream& random, std::uint64_t epoch, std::int64_t n);

  std::int64_t size() const { return static_cast<std::int64_t>(n_); }
  /// What stands at place i.
  std::int64_t operator[](std::int64_t i) const;

 private:
  RandomStream random_;
  std::uint64_t epoch_, n_;
  std::vector<std::uint64_t> keys_;  ///< K_r
};

}  // namespace crema
