#include "primitives/lrn.h"

#include "support.h"

namespace crema {
namespace {

using testing::Blob;
using testing::distance;
using testing::in_double;
using testing::random_values;

LrnShape make(std::int64_t batch, std::int64_t channels, std::int64_t spatial, std::int64_t size,
              float alpha, float beta, float k) {
  return {batch, channels, spatial, size, alpha, beta, k};
}

std::vector<LrnShape> shapes() {
  return {make(2, 96, 9, 5, 1e-4f, 0.75f, 1), make(2, 32, 70, 3, 5e-5f, 0.75f, 1),
          make(1, 7, 4, 5, 1, 0.75f, 1),      make(2, 3, 5, 5, 2, 0.5f, 2),
          make(2, 300, 3, 5, 3, 0.75f, 1),    make(1, 600, 2, 7, 3, 0.6f, 1.5f),
          make(3, 2, 65, 9, 1, 0.75f, 1),     make(2, 1, 6, 5, 1, 0.75f, 1),
          make(2, 40, 1, 5, 1, 0.75f, 1),     make(2, 50, 6, 31, 2, 1.0f, 1),
          make(2, 50, 6, 33, 2, 0.75f, 1),    make(2, 40, 6, 35, 2, 0.75f, 1),
          make(2, 10, 6, 101, 2, 0.75f, 1),   make(2, 10, 6, 1, 2, 0.75f, 1)};
}

class LrnTest : public ::testing::TestWithParam<LrnShape> {};

std::vector<double> by_definition(const LrnShape& s, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      for (std::int64_t p = 0; p < s.spatial; ++p) {
        const auto at = [&](std::int64_t channel) {
          return static_cast<std::size_t>((n * s.channels + channel) * s.spatial + p);
        };
        double sum = 0;
        for (std::int64_t j = c - (s.size - 1) / 2; j <= c + (s.size - 1) / 2; ++j) {
          if (j >= 0 && j < s.channels) sum += x[at(j)] * x[at(j)];
        }
        y[at(c)] =
            x[at(c)] * std::pow(static_cast<double>(s.k) + static_cast<double>(s.alpha) /
                                                               static_cast<double>(s.size) * sum,
                                -static_cast<double>(s.beta));
      }
    }
  }
  return y;
}

TEST_P(LrnTest, LoopIsTheDefinitionAndItsDerivative) {
  const LrnShape& s = GetParam();
  const std::int64_t count = s.batch * s.channels * s.spatial;
  const auto device = make_cpu_device(2);
  auto x = in_double(random_values(count, 1, -2, 2));
  const auto dy = in_double(random_values(count, 2));
  std::vector<double> y(x.size()), dx(x.size());
  lrn_forward_loop(*device, s, x.data(), y.data());
  EXPECT_LT(distance(y, by_definition(s, x)), 1e-12);
  lrn_backward_loop(*device, s, x.data(), dy.data(), dx.data());
  const double step = 1e-5;
  for (std::size_t i = 0; i < x.size(); i += x.size() / 13 + 1) {
    const double before = x[i];
    x[i] = before + step;
    const auto up = by_definition(s, x);
    x[i] = before - step;
    const auto down = by_definition(s, x);
    x[i] = before;
    double slope = 0;
    for (std::size_t j = 0; j < x.size(); ++j) slope += dy[j] * (up[j] - down[j]) / (2 * step);
    EXPECT_NEAR(dx[i], slope, 1e-7);
  }
}

TEST_P(LrnTest, EveryLayoutIsTheLoop) {
  const LrnShape& s = GetParam();
  const Shape shape{s.batch, s.channels, s.spatial, 1};
  const auto x = random_values(shape.count(), 3, -2, 2);
  const auto dy = random_values(shape.count(), 4);
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    const auto x2 = in_double(x), dy2 = in_double(dy);
    std::vector<double> y(x.size()), dx(x.size());
    lrn_forward_loop(*device, s, x2.data(), y.data());
    lrn_backward_loop(*device, s, x2.data(), dy2.data(), dx.data());
    for (const Layout& layout : {Layout(), channels_last(shape)}) {
      const Blob bottom(*device, shape, layout, x);
      const Blob top_gradient(*device, shape, layout, dy);
      const Blob top(*device, shape, layout);
      const Blob bottom_gradient(*device, shape, layout);
      top.fill(NAN);
      bottom_gradient.fill(NAN);
      lrn_forward(s, bottom.tensor(), top.tensor());
      lrn_backward(s, bottom.tensor(), top_gradient.tensor(), bottom_gradient.tensor());
      EXPECT_LT(distance(top.plain(), y), 1e-6) << layout.name();
      EXPECT_LT(distance(bottom_gradient.plain(), dx), 2e-6) << layout.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LrnTest, ::testing::ValuesIn(shapes()));

}  // namespace
}  // namespace crema
