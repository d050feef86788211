#include "primitives/inner_product.h"

#include "support.h"

namespace crema {
namespace {

using testing::distance;
using testing::in_double;
using testing::random_values;

class InnerProductTest : public ::testing::TestWithParam<InnerProductShape> {};

TEST_P(InnerProductTest, DefinitionAndDerivatives) {
  const InnerProductShape& s = GetParam();
  const auto x = random_values(s.m * s.k, 1), w = random_values(s.n * s.k, 2);
  const auto b = random_values(s.n, 3), dy = random_values(s.m * s.n, 4);
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const auto o = static_cast<std::size_t>(i * s.n + j);
      y[o] = static_cast<double>(b[static_cast<std::size_t>(j)]);
      db[static_cast<std::size_t>(j)] += static_cast<double>(dy[o]);
      for (std::int64_t k = 0; k < s.k; ++k) {
        const auto from = static_cast<std::size_t>(i * s.k + k);
        const auto weight = static_cast<std::size_t>(s.transposed ? k * s.n + j : j * s.k + k);
        y[o] += static_cast<double>(x[from]) * static_cast<double>(w[weight]);
        dx[from] += static_cast<double>(dy[o]) * static_cast<double>(w[weight]);
        dw[weight] += static_cast<double>(dy[o]) * static_cast<double>(x[from]);
      }
    }
  }
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    std::vector<float> top(y.size(), NAN), bottom_gradient(x.size(), NAN);
    inner_product_forward(*device, s, x.data(), w.data(), b.data(), false, 0.0f, top.data());
    EXPECT_LT(distance(top, y), 1e-5);
    std::vector<float> activated(y.size(), NAN);
    inner_product_forward(*device, s, x.data(), w.data(), b.data(), true, 0.25f, activated.data());
    for (std::size_t i = 0; i < top.size(); ++i) {
      EXPECT_EQ(activated[i], top[i] > 0 ? top[i] : 0.25f * top[i]);
    }
    inner_product_backward_bottom(*device, s, dy.data(), w.data(), bottom_gradient.data());
    EXPECT_LT(distance(bottom_gradient, dx), 1e-5);
    std::vector<float> weight_gradient(w.size(), NAN), bias_gradient(b.size(), NAN);
    inner_product_backward_params(*device, s, x.data(), dy.data(), false, weight_gradient.data(),
                                  false, bias_gradient.data());
    EXPECT_LT(distance(weight_gradient, dw), 1e-5);
    EXPECT_LT(distance(bias_gradient, db), 1e-5);
    inner_product_backward_params(*device, s, x.data(), dy.data(), true, weight_gradient.data(),
                                  true, bias_gradient.data());
    auto twice = dw, bias_twice = db;
    for (double& value : twice) value *= 2;
    for (double& value : bias_twice) value *= 2;
    EXPECT_LT(distance(weight_gradient, twice), 1e-5);
    EXPECT_LT(distance(bias_gradient, bias_twice), 1e-5);
    std::vector<double> top2(y.size()), dx2(x.size()), dw2(w.size()), db2(b.size());
    const auto x2 = in_double(x), w2 = in_double(w), b2 = in_double(b), dy2 = in_double(dy);
    inner_product_forward(*device, s, x2.data(), w2.data(), b2.data(), false, 0.0, top2.data());
    inner_product_backward_bottom(*device, s, dy2.data(), w2.data(), dx2.data());
    inner_product_backward_params(*device, s, x2.data(), dy2.data(), false, dw2.data(), false,
                                  db2.data());
    EXPECT_LT(distance(top2, y), 1e-12);
    EXPECT_LT(distance(dx2, dx), 1e-12);
    EXPECT_LT(distance(dw2, dw), 1e-12);
    EXPECT_LT(distance(db2, db), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, InnerProductTest,
    ::testing::Values(InnerProductShape{1, 10, 50, false}, InnerProductShape{64, 10, 500, false},
                      InnerProductShape{64, 50, 81, true}, InnerProductShape{7, 1, 3, false},
                      InnerProductShape{33, 1, 30, true}, InnerProductShape{3, 5, 1, false}));

TEST(InnerProduct, ReluKeepsNan) {
  const auto device = make_cpu_device(1);
  const float x[] = {1}, w[] = {NAN, -1, 2}, b[] = {0, 0, 0};
  float y[3];
  inner_product_forward<float>(*device, {1, 3, 1, false}, x, w, b, true, 0.0f, y);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 2);
}

}  // namespace
}  // namespace crema
