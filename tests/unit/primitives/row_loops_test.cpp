#include "primitives/row_loops.h"

#include "support.h"

namespace crema {
namespace {

using testing::random_values;

TEST(RowLoopsTest, AreTheirDefinitions) {
  for (const auto& [rows, n] :
       {std::pair{1, 1}, {3, 15}, {4, 16}, {7, 17}, {12, 1000}, {0, 5}, {5, 0}}) {
    const std::int64_t period = rows % 2 == 0 ? 2 : 1;
    const auto base = random_values(rows * n, 1), from = random_values(rows * n, 2);
    const auto factors = random_values(rows, 3), added = random_values(period * n, 4);
    for (const int threads : {1, 3}) {
      const auto device = make_cpu_device(threads);
      std::vector<float> scaled(base.size()), sum(base.size()), repeated = base;
      scale_rows(*device, rows, n, factors.data(), from.data(), scaled.data());
      add_scaled_rows(*device, rows, n, base.data(), factors.data(), from.data(), sum.data());
      add_repeated_rows(*device, rows, n, period, added.data(), repeated.data());
      for (std::size_t i = 0; i < base.size(); ++i) {
        const std::size_t width = static_cast<std::size_t>(n), row = i / width;
        const float factor = factors[row];
        EXPECT_FLOAT_EQ(scaled[i], factor * from[i]);
        EXPECT_NEAR(sum[i], base[i] + factor * from[i], 1e-6);
        const std::size_t other = row % static_cast<std::size_t>(period) * width + i % width;
        EXPECT_EQ(repeated[i], base[i] + added[other]);
      }
    }
  }
}

}  // namespace
}  // namespace crema
