#include "kernels/fast_tanh.h"

#include <gtest/gtest.h>

#include <limits>

namespace crema {
namespace {

TEST(FastTanhTest, IsWithinTwoUnitsOfTheLastPlace) {
  for (float x = 1e-30f; x < 1e30f; x *= 1.00037f) {
    const double exact = std::tanh(static_cast<double>(x));
    ASSERT_NEAR(fast_tanh(x), exact, 1.4e-7 * exact) << x;
    ASSERT_EQ(fast_tanh(-x), -fast_tanh(x)) << x;
  }
}

TEST(FastTanhTest, SpecialValues) {
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(fast_tanh(Limits::infinity()), 1);
  EXPECT_EQ(fast_tanh(-Limits::infinity()), -1);
  EXPECT_EQ(fast_tanh(Limits::max()), 1);
  EXPECT_EQ(fast_tanh(9.5f), 1);
  EXPECT_EQ(fast_tanh(Limits::denorm_min()), Limits::denorm_min());
  EXPECT_EQ(fast_tanh(0.0f), 0);
  EXPECT_FALSE(std::signbit(fast_tanh(0.0f)));
  EXPECT_TRUE(std::signbit(fast_tanh(-0.0f)));
  EXPECT_TRUE(std::isnan(fast_tanh(Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(fast_tanh(-Limits::quiet_NaN())));
}

TEST(FastTanhTest, OtherTypesAreExact) { EXPECT_EQ(fast_tanh(0.3), std::tanh(0.3)); }

}  // namespace
}  // namespace crema
