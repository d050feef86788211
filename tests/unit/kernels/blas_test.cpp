#include "kernels/blas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace crema {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<T> distribution(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = distribution(engine);
  return values;
}

template <class T>
void check_gemm(int threads, bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                T alpha, T beta, T tolerance) {
  const auto device = make_cpu_device(threads);
  const std::int64_t lda = (ta ? m : k) + 2, ldb = (tb ? k : n) + 3, ldc = n + 1;
  const auto a = random_values<T>((ta ? k : m) * lda, 1);
  const auto b = random_values<T>((tb ? n : k) * ldb, 2);
  auto c = random_values<T>(m * ldc, 3);
  if (beta == 0) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) c[static_cast<std::size_t>(i * ldc + j)] = NAN;
    }
  }
  const auto before = c;
  gemm(*device, ta ? Transpose::kYes : Transpose::kNo, tb ? Transpose::kYes : Transpose::kNo, m, n,
       k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const auto at = static_cast<std::size_t>(i * ldc + j);
      if (j == n) {  // between the rows
        EXPECT_EQ(c[at], before[at]);
        continue;
      }
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += static_cast<double>(a[static_cast<std::size_t>(ta ? p * lda + i : i * lda + p)]) *
               static_cast<double>(b[static_cast<std::size_t>(tb ? j * ldb + p : p * ldb + j)]);
      }
      double expected = static_cast<double>(alpha) * sum;
      if (beta != 0) expected += static_cast<double>(beta) * static_cast<double>(before[at]);
      ASSERT_NEAR(static_cast<double>(c[at]), expected, static_cast<double>(tolerance));
    }
  }
}

TEST(Blas, GemmInEveryForm) {
  const std::int64_t sizes[][3] = {{1, 1, 1},   {3, 5, 7},     {1, 40, 33}, {40, 1, 33},
                                   {64, 48, 1}, {33, 65, 129}, {5, 4, 0}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const int threads : {1, 2}) {
          check_gemm<float>(threads, ta, tb, m, n, k, 1, 0, 1e-4f);
          check_gemm<float>(threads, ta, tb, m, n, k, -0.5f, 1, 1e-4f);
          check_gemm<double>(threads, ta, tb, m, n, k, 2, 0, 1e-12);
          check_gemm<double>(threads, ta, tb, m, n, k, 1, 0.5, 1e-12);
        }
      }
    }
  }
  check_gemm<float>(2, false, true, 17, 9, 4, 0, 0, 0);
}

TEST(Blas, GemmOfNothing) {
  const auto device = make_cpu_device(1);
  float c = 7;
  gemm(*device, Transpose::kNo, Transpose::kNo, 0, 1, 1, 1.0f, nullptr, 1, nullptr, 1, 0.0f, &c, 1);
  EXPECT_EQ(c, 7);
}

TEST(Blas, Elementwise) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    for (const std::int64_t n : {0, 1, 7, 100000}) {
      const auto x = random_values<float>(n, 1);
      auto y = random_values<float>(n, 2);
      const auto before = y;
      axpy(*device, n, 0.5f, x.data(), y.data());
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(y[i]), static_cast<double>(before[i] + 0.5f * x[i]), 1e-6);
      }
      fill(*device, n, 4, y.data());
      for (const float value : y) ASSERT_EQ(value, 4);
    }
  }
}

TEST(Blas, SumRows) {
  for (const int threads : {1, 2, 3}) {
    const auto device = make_cpu_device(threads);
    const std::int64_t sizes[][2] = {{0, 3},      {1, 1},    {1, 500},   {1000, 1},
                                     {100001, 1}, {777, 3},  {63, 10},   {5, 63},
                                     {64, 64},    {999, 96}, {37, 5000}, {40000, 20}};
    for (const auto& [m, n] : sizes) {
      const auto x = random_values<float>(m * n, 5);
      std::vector<double> expected(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < x.size(); ++i) {
        expected[i % static_cast<std::size_t>(n)] += static_cast<double>(x[i]);
      }
      std::vector<float> y(static_cast<std::size_t>(n), NAN);
      sum_rows(*device, m, n, x.data(), false, y.data());
      std::vector<float> again(static_cast<std::size_t>(n), NAN);
      sum_rows(*device, m, n, x.data(), false, again.data());
      EXPECT_EQ(y, again);
      const double tolerance = 1e-6 * std::sqrt(static_cast<double>(m) + 1);
      for (std::size_t j = 0; j < y.size(); ++j) {
        ASSERT_NEAR(static_cast<double>(y[j]), expected[j], tolerance) << m << " x " << n;
      }
      sum_rows(*device, m, n, x.data(), true, y.data());
      for (std::size_t j = 0; j < y.size(); ++j) ASSERT_EQ(y[j], again[j] * 2);
    }
  }
}

TEST(Blas, SumsInDouble) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    for (const std::int64_t n : {0, 1, 15, 17, 1000003}) {
      const auto x = random_values<float>(n, 1);
      long double squares = 0;
      long double total = 0;
      for (const float value : x) {
        squares += static_cast<long double>(value) * static_cast<long double>(value);
        total += static_cast<long double>(value);
      }
      EXPECT_NEAR(sum(*device, n, x.data()), static_cast<double>(total), 1e-6);
      EXPECT_EQ(sum(*device, n, x.data()), sum(*device, n, x.data()));
      EXPECT_NEAR(sum_of_squares(*device, n, x.data()), static_cast<double>(squares), 1e-6);
      EXPECT_EQ(sum_of_squares(*device, n, x.data()), sum_of_squares(*device, n, x.data()));
    }
  }
}

TEST(Blas, NanIsNotLost) {
  const auto device = make_cpu_device(1);
  std::vector<float> x(100, 1.0f);
  x[50] = NAN;
  EXPECT_TRUE(std::isnan(sum_of_squares(*device, 100, x.data())));
}

}  // namespace
}  // namespace crema
