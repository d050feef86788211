#include "data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace crema {
namespace {

std::vector<std::int64_t> places(const Permutation& permutation) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < permutation.size(); ++i) result.push_back(permutation[i]);
  return result;
}

TEST(Permutation, HoldsEachNumberOnce) {
  const RandomStream random(3, stream_id("data"));
  for (std::int64_t n = 0; n < 200; ++n) {
    std::vector<std::int64_t> all = places(Permutation(random, 5, n));
    std::sort(all.begin(), all.end());
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i) << n;
  }
}

TEST(Permutation, EpochsStreamsAndSeedsDiffer) {
  const std::uint64_t stream = stream_id("data");
  const auto first = places(Permutation(RandomStream(1, stream), 0, 50));
  EXPECT_EQ(first, places(Permutation(RandomStream(1, stream), 0, 50)));
  EXPECT_NE(first, places(Permutation(RandomStream(1, stream), 1, 50)));
  EXPECT_NE(first, places(Permutation(RandomStream(2, stream), 0, 50)));
  EXPECT_NE(first, places(Permutation(RandomStream(1, stream_id("data", 1)), 0, 50)));
}

// All 24 orders of 4 come equally often (chi-square with 23 degrees of freedom; 60 has p = 4e-5).
TEST(Permutation, IsUniform) {
  const RandomStream random(7, stream_id("x"));
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int kDraws = 24000;
  for (int epoch = 0; epoch < kDraws; ++epoch) {
    ++counts[places(Permutation(random, static_cast<std::uint64_t>(epoch), 4))];
  }
  ASSERT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 60);
}

// Neighbours must not stay neighbours: about one of n pairs does by chance.
TEST(Permutation, BreaksUpRuns) {
  const Permutation permutation(RandomStream(7, 1), 0, 20000);
  int runs = 0;
  for (std::int64_t i = 1; i < permutation.size(); ++i) {
    runs += permutation[i] == permutation[i - 1] + 1;
  }
  EXPECT_LE(runs, 8);
}

}  // namespace
}  // namespace crema
