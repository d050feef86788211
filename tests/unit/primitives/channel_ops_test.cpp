#include "primitives/channel_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"

namespace crema {
namespace {

/// Along channels and inner, shorter and longer than pieces and vectors, and nothing at all.
const std::vector<ChannelAxis> kAxes = {
    {1, 1, 1},    {2, 3, 4},     {7, 5, 1},      {1, 300, 1},  {200, 300, 1},  {70000, 3, 1},
    {3, 2, 17},   {2, 3, 10000}, {1, 1, 100000}, {1000, 1, 5}, {130, 16, 49},  {5000, 1, 1},
    {1, 2, 8193}, {0, 3, 4},     {3, 0, 4},      {3, 2, 0},    {3000, 600, 1}, {600, 2, 2},
};

std::vector<float> values(std::int64_t count, std::uint64_t seed, float offset = 0) {
  const RandomStream random(seed, 0);
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = offset + static_cast<float>(random.below(0, i, 2001)) / 1000 - 1;
  }
  return result;
}

std::string name(const ChannelAxis& axis, int threads) {
  return std::to_string(axis.outer) + " x " + std::to_string(axis.channels) + " x " +
         std::to_string(axis.inner) + ", threads " + std::to_string(threads);
}

std::size_t channel_of(const ChannelAxis& axis, std::size_t i) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(i) / axis.inner % axis.channels);
}

/// Sum of term(i) by channel, one after the other in double.
template <class Term>
std::vector<double> sums(const ChannelAxis& axis, const Term& term) {
  std::vector<double> result(static_cast<std::size_t>(axis.channels));
  for (std::size_t i = 0; i < static_cast<std::size_t>(axis.count()); ++i) {
    result[channel_of(axis, i)] += term(i);
  }
  return result;
}

TEST(ChannelOps, AffineIsTheFormula) {
  for (const ChannelAxis& axis : kAxes) {
    const std::vector<float> x = values(axis.count(), 1);
    const std::vector<float> shift = values(axis.channels, 2), gamma = values(axis.channels, 3),
                             beta = values(axis.channels, 4);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(name(axis, threads));
      const auto device = make_cpu_device(threads);
      for (int parts = 0; parts < 8; ++parts) {
        ChannelAffine map;
        if (parts & 1) map.shift = shift.data();
        if (parts & 2) map.gamma = gamma.data();
        if (parts & 4) map.beta = beta.data();
        std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN()), in_place = x;
        channel_affine(*device, axis, map, x.data(), y.data());
        channel_affine(*device, axis, map, in_place.data(), in_place.data());
        ASSERT_EQ(y, in_place);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t c = channel_of(axis, i);
          const double expected =
              (x[i] - (parts & 1 ? double{shift[c]} : 0)) * (parts & 2 ? double{gamma[c]} : 1) +
              (parts & 4 ? double{beta[c]} : 0);
          ASSERT_NEAR(y[i], expected, 1e-6) << i;
        }
      }
    }
  }
}

TEST(ChannelOps, SumsAreExactAndEqualForAnyThreads) {
  for (const ChannelAxis& axis : kAxes) {
    const auto channels = static_cast<std::size_t>(axis.channels);
    const std::vector<float> x = values(axis.count(), 1), dy = values(axis.count(), 2);
    const std::vector<double> beta = sums(axis, [&](std::size_t i) { return dy[i]; });
    const std::vector<double> gamma =
        sums(axis, [&](std::size_t i) { return double{dy[i]} * x[i]; });
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 7}) {
      SCOPED_TRACE(name(axis, threads));
      const auto device = make_cpu_device(threads);
      std::vector<char> scratch(channel_scratch_bytes(axis), '\xff');
      std::vector<float> both(2 * channels), gamma_alone(channels, 5), beta_alone(channels, 6);
      channel_affine_gradients(*device, axis, x.data(), dy.data(),
                               {both.data(), false, both.data() + channels, false}, scratch.data());
      channel_affine_gradients(*device, axis, x.data(), dy.data(),
                               {gamma_alone.data(), true, nullptr, false}, scratch.data());
      channel_affine_gradients(*device, axis, nullptr, dy.data(),
                               {nullptr, false, beta_alone.data(), true}, scratch.data());
      for (std::size_t c = 0; c < channels; ++c) {
        const double tolerance = 1e-6 * (10 + std::abs(gamma[c]) + std::abs(beta[c]));
        ASSERT_NEAR(both[c], gamma[c], tolerance);
        ASSERT_NEAR(both[channels + c], beta[c], tolerance);
        ASSERT_NEAR(gamma_alone[c], 5 + gamma[c], tolerance);
        ASSERT_NEAR(beta_alone[c], 6 + beta[c], tolerance);
      }
      results.push_back(std::move(both));
      EXPECT_EQ(results.back(), results.front());
    }
  }
}

TEST(ChannelOps, MomentsFarFromZero) {
  for (const ChannelAxis& axis : kAxes) {
    if (axis.count() == 0) continue;
    SCOPED_TRACE(name(axis, 2));
    const auto device = make_cpu_device(2);
    const auto m = static_cast<double>(axis.outer * axis.inner);
    const std::vector<float> x = values(axis.count(), 1, 1000);
    std::vector<double> mean = sums(axis, [&](std::size_t i) { return x[i] / m; });
    const std::vector<double> variance = sums(axis, [&](std::size_t i) {
      const double off = x[i] - mean[channel_of(axis, i)];
      return off * off / m;
    });
    std::vector<char> scratch(channel_scratch_bytes(axis), '\xff');
    const auto channels = static_cast<std::size_t>(axis.channels);
    std::vector<float> got_mean(channels), got_variance(channels), mean_alone(channels);
    channel_moments(*device, axis, x.data(), got_mean.data(), got_variance.data(), scratch.data());
    channel_moments(*device, axis, x.data(), mean_alone.data(), nullptr, scratch.data());
    EXPECT_EQ(got_mean, mean_alone);
    for (std::size_t c = 0; c < channels; ++c) {
      ASSERT_NEAR(got_mean[c], mean[c], 1e-4);
      ASSERT_NEAR(got_variance[c], variance[c], 1e-6);
    }
  }
}

TEST(ChannelOps, MomentsKeepNan) {
  const auto device = make_cpu_device(1);
  const ChannelAxis axis{2, 2, 1};
  const std::vector<float> x = {1, std::numeric_limits<float>::quiet_NaN(), 3, 4};
  std::vector<char> scratch(channel_scratch_bytes(axis));
  std::vector<float> mean(2), variance(2);
  channel_moments(*device, axis, x.data(), mean.data(), variance.data(), scratch.data());
  EXPECT_EQ(mean[0], 2);
  EXPECT_EQ(variance[0], 1);
  EXPECT_TRUE(std::isnan(mean[1]));
  EXPECT_TRUE(std::isnan(variance[1]));
}

TEST(ChannelOps, GradientsAreTheFormula) {
  for (const ChannelAxis& axis : kAxes) {
    const auto m = static_cast<double>(axis.outer * axis.inner);
    const std::vector<float> y = values(axis.count(), 1), dy = values(axis.count(), 2);
    const std::vector<float> inverse = values(axis.channels, 3);
    const std::vector<double> mean = sums(axis, [&](std::size_t i) { return dy[i] / m; });
    const std::vector<double> product =
        sums(axis, [&](std::size_t i) { return double{dy[i]} * y[i] / m; });
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(name(axis, threads));
      const auto device = make_cpu_device(threads);
      std::vector<char> scratch(channel_scratch_bytes(axis), '\xff');
      std::vector<float> dx = dy, centered(dy.size());
      normalized_gradient(*device, axis, y.data(), dx.data(), inverse.data(), dx.data(),
                          scratch.data());
      centered_gradient(*device, axis, dy.data(), centered.data(), scratch.data());
      for (std::size_t i = 0; i < dy.size(); ++i) {
        const std::size_t c = channel_of(axis, i);
        ASSERT_NEAR(dx[i], (dy[i] - mean[c] - y[i] * product[c]) * inverse[c], 1e-6) << i;
        ASSERT_NEAR(centered[i], dy[i] - mean[c], 1e-6) << i;
      }
    }
  }
}

}  // namespace
}  // namespace crema
