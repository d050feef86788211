#include "primitives/softmax.h"

#include <limits>

#include "support.h"

namespace crema {
namespace {

using testing::distance;
using testing::in_double;
using testing::random_values;

class SoftmaxTest : public ::testing::TestWithParam<SoftmaxShape> {};

TEST_P(SoftmaxTest, DefinitionDerivativeAndThreads) {
  const SoftmaxShape& s = GetParam();
  const std::int64_t count = s.outer * s.classes * s.inner;
  const auto x = random_values(count, 1, -30, 30);
  const auto dy = random_values(count, 2);
  auto x2 = in_double(x);
  const auto dy2 = in_double(dy);
  std::vector<double> y2(x.size()), dx2(x.size());
  const auto one = make_cpu_device(1);
  softmax_forward(*one, s, x2.data(), y2.data());
  softmax_backward(*one, s, y2.data(), dy2.data(), dx2.data());
  for (std::int64_t i = 0; i < s.outer * s.inner; ++i) {
    const std::int64_t first = i / s.inner * s.classes * s.inner + i % s.inner;
    double sum = 0;
    for (std::int64_t c = 0; c < s.classes; ++c) {
      sum += std::exp(x2[static_cast<std::size_t>(first + c * s.inner)]);
    }
    for (std::int64_t c = 0; c < s.classes; ++c) {
      const auto at = static_cast<std::size_t>(first + c * s.inner);
      EXPECT_NEAR(y2[at], std::exp(x2[at]) / sum, 1e-12);
    }
  }
  std::vector<double> up(x.size()), down(x.size());
  for (std::size_t i = 0; i < x.size(); i += x.size() / 11 + 1) {
    const double before = x2[i], step = 1e-6;
    x2[i] = before + step;
    softmax_forward(*one, s, x2.data(), up.data());
    x2[i] = before - step;
    softmax_forward(*one, s, x2.data(), down.data());
    x2[i] = before;
    double slope = 0;
    for (std::size_t j = 0; j < x.size(); ++j) slope += dy2[j] * (up[j] - down[j]) / (2 * step);
    EXPECT_NEAR(dx2[i], slope, 1e-7);
  }
  std::vector<float> first;
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    std::vector<float> y(x.size()), dx = dy;
    softmax_forward(*device, s, x.data(), y.data());
    EXPECT_LT(distance(y, y2), 1e-5);
    softmax_backward(*device, s, y.data(), dx.data(), dx.data());  // in place
    EXPECT_LT(distance(dx, dx2), 1e-5);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxTest,
                         ::testing::Values(SoftmaxShape{64, 10, 1}, SoftmaxShape{3, 1000, 1},
                                           SoftmaxShape{2, 5, 77}, SoftmaxShape{1, 1, 3},
                                           SoftmaxShape{300, 21, 33}));

TEST(Softmax, LargeValuesAndNan) {
  const auto device = make_cpu_device(1);
  const std::vector<float> x = {1e30f, 1e30f, -1e30f, 1, NAN, 2};
  std::vector<float> y(6);
  softmax_forward(*device, {2, 3, 1}, x.data(), y.data());
  EXPECT_EQ(y[0], 0.5f);
  EXPECT_EQ(y[1], 0.5f);
  EXPECT_EQ(y[2], 0);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

}  // namespace
}  // namespace crema
