#include "base/philox.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace crema {
namespace {

void expect_block(Philox4 counter, std::uint32_t key0, std::uint32_t key1, Philox4 expected) {
  const Philox4 block = philox(counter, key0, key1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(block.x[i], expected.x[i]) << "word " << i;
}

// The known answers that Random123 1.09 comes with.
TEST(PhiloxTest, GivesTheKnownAnswers) {
  expect_block({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect_block({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(PhiloxTest, UniformIsInTheHalfOpenInterval) {
  EXPECT_EQ(philox_uniform(0), 0.0f);
  EXPECT_LT(philox_uniform(0xffffffff), 1.0f);
  EXPECT_EQ(philox_uniform(0x80000000), 0.5f);
}

TEST(RandomStreamTest, ElementsAreThoseOfTheirBlock) {
  const RandomStream stream(5, 9);
  for (std::uint64_t element = 0; element < 12; ++element) {
    EXPECT_EQ(stream.bits(3, element), stream.block(3, element / 4).x[element % 4]);
  }
}

TEST(RandomStreamTest, SeedStreamStepAndElementAllMatter) {
  // All in one set: no two addresses give the same value (2^32 values, some 60 draws).
  std::set<std::uint32_t> seen;
  std::size_t draws = 0;
  const std::uint64_t big = std::uint64_t{1} << 33;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, big}) {
    for (const std::uint64_t stream : {std::uint64_t{1}, std::uint64_t{2}, big}) {
      for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, big}) {
        for (const std::uint64_t element : {std::uint64_t{0}, std::uint64_t{1}, 4 * big}) {
          seen.insert(RandomStream(seed, stream).bits(step, element));
          ++draws;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), draws);
}

TEST(RandomStreamTest, UniformHasTheMomentsOfAUniform) {
  const RandomStream stream(1, 2);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = stream.uniform(0, static_cast<std::uint64_t>(i));
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(RandomStreamTest, NeighbouringStepsAreUncorrelated) {
  const RandomStream stream(1, 2);
  const int n = 100000;
  double product = 0;
  for (int i = 0; i < n; ++i) {
    const auto element = static_cast<std::uint64_t>(i);
    product += (stream.uniform(7, element) - 0.5) * (stream.uniform(8, element) - 0.5);
  }
  // 12 times the covariance is the correlation; its deviation is 1 / sqrt(n).
  EXPECT_NEAR(12 * product / n, 0, 0.015);
}

TEST(RandomStreamTest, BelowCoversItsRangeEvenly) {
  const RandomStream stream(3, 4);
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts.at(stream.below(0, i, 7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(stream.below(0, 0, 1), 0u);
}

TEST(StreamIdTest, NameAndIndexTellStreamsApart) {
  static_assert(stream_id("") != 0);
  EXPECT_NE(stream_id("conv1"), stream_id("conv2"));
  EXPECT_NE(stream_id("conv1", 0), stream_id("conv1", 1));
  // FNV-1a. Snapshots depend on it: it must never change.
  EXPECT_EQ(stream_id("conv1", 0), 0x0390117615f504a6u);
  EXPECT_EQ(stream_id("conv1", 3), 0x0390107615f502f3u);
}

}  // namespace
}  // namespace crema
