#include "kernels/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace crema {
namespace {

using Limits = std::numeric_limits<float>;

TEST(AllFiniteTest, TellsNumbersFromWhatIsNone) {
  for (const int threads : {1, 3}) {
    const auto device = make_cpu_device(threads);
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{37}, std::int64_t{100'003}}) {
      std::vector<float> x(static_cast<std::size_t>(n), -1.5f);
      EXPECT_TRUE(all_finite(*device, n, x.data()));
      for (std::size_t at = 0; at < x.size(); at += 1 + x.size() / 7) {
        for (const float extreme : {Limits::max(), Limits::lowest(), Limits::denorm_min(), -0.0f}) {
          x[at] = extreme;
          EXPECT_TRUE(all_finite(*device, n, x.data())) << extreme;
        }
        for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                                std::copysign(Limits::quiet_NaN(), -1.0f)}) {
          x[at] = bad;
          EXPECT_FALSE(all_finite(*device, n, x.data())) << bad << " at " << at << " of " << n;
        }
        x[at] = 1;
      }
    }
  }
}

}  // namespace
}  // namespace crema
