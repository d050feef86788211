// The swap-or-not shuffle: each round swaps a place with its partner or leaves both, by a random
// bit that belongs to the pair.
#include "data/permutation.h"

#include <algorithm>
#include <bit>

namespace crema {
namespace {

// Random numbers of one epoch: blocks below 2^48 of "lane" r belong to round r, those of lane 255
// give the keys.
constexpr std::uint64_t block_of(std::uint64_t lane, std::uint64_t index) {
  return lane << 48 | index;
}
constexpr std::uint64_t kKeyLane = 255;

}  // namespace

Permutation::Permutation(const RandomStream& random, std::uint64_t epoch, std::int64_t n)
    : random_(random), epoch_(epoch), n_(static_cast<std::uint64_t>(n)) {
  // The distance from a uniform choice falls by a constant factor each round; about 4 rounds a bit
  // suffice.
  const int rounds = n_ < 2 ? 0 : std::min(32 + 4 * static_cast<int>(std::bit_width(n_)), 200);
  for (int round = 0; round < rounds; ++round) {
    const Philox4 draw =
        random_.block(epoch_, block_of(kKeyLane, static_cast<std::uint64_t>(round)));
    keys_.push_back((std::uint64_t{draw.x[0]} << 32 | draw.x[1]) % n_);
  }
}

std::int64_t Permutation::operator[](std::int64_t i) const {
  auto x = static_cast<std::uint64_t>(i);
  for (std::size_t round = 0; round < keys_.size(); ++round) {
    const std::uint64_t key = keys_[round];
    const std::uint64_t partner = key >= x ? key - x : key + n_ - x;
    const std::uint64_t pair = std::max(x, partner);
    if (random_.block(epoch_, block_of(round, pair)).x[0] & 1) x = partner;
  }
  return static_cast<std::int64_t>(x);
}

}  // namespace crema
