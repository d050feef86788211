#include "layers/filler.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "op_harness.h"

namespace crema::test {
namespace {

caffe::FillerParameter filler(const std::string& text) {
  caffe::FillerParameter parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed));
  return parsed;
}

std::vector<float> filled(const std::string& text, const Shape& shape, std::uint64_t step = 0,
                          int threads = 1, std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()), -99.0f);
  check_filler(filler(text), shape);
  fill(*make_cpu_device(threads), filler(text), shape, RandomStream(seed, stream_id("conv1", 0)),
       values.data(), step);
  return values;
}

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviation(const std::vector<float>& values) {
  const double m = mean(values);
  double sum = 0;
  for (const float value : values) sum += (value - m) * (value - m);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Filler, Constant) {
  EXPECT_THAT(filled("", {2, 3}), testing::Each(0.0f));
  EXPECT_THAT(filled("value: 1.5", {5}), testing::Each(1.5f));
  EXPECT_THAT(filled("value: 2", {}), testing::ElementsAre(2.0f));
  EXPECT_TRUE(filled("type: 'gaussian'", {0, 3}).empty());
}

TEST(Filler, Uniform) {
  const auto values = filled("type: 'uniform' min: -2 max: 4", {100, 1000});
  EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(-2.0f), testing::Lt(4.0f))));
  EXPECT_NEAR(mean(values), 1, 0.02);
  EXPECT_NEAR(deviation(values), 6 / std::sqrt(12.0), 0.02);
}

TEST(Filler, Gaussian) {
  const auto values = filled("type: 'gaussian' mean: 3 std: 0.5", {100, 1001});
  EXPECT_NEAR(mean(values), 3, 0.01);
  EXPECT_NEAR(deviation(values), 0.5, 0.01);
  const auto beyond = std::count_if(values.begin(), values.end(),
                                    [](float value) { return std::abs(value - 3) > 1; });
  EXPECT_NEAR(static_cast<double>(beyond) / 100100, 0.0455, 0.003);
  // Neighbours are not related.
  double product = 0;
  for (std::size_t i = 1; i < values.size(); ++i) product += (values[i] - 3) * (values[i - 1] - 3);
  EXPECT_NEAR(product / 100100 / 0.25, 0, 0.02);
}

TEST(Filler, SparseGaussian) {
  const auto values = filled("type: 'gaussian' sparse: 25", {100, 1000});
  const auto kept = std::count_if(values.begin(), values.end(), [](float v) { return v != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / 100000, 0.25, 0.01);
  const auto dense = filled("type: 'gaussian'", {100, 1000});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      ASSERT_EQ(values[i], dense[i]);
    }
  }
  EXPECT_THAT(filled("type: 'gaussian' sparse: 0", {4, 5}), testing::Each(0.0f));
}

TEST(Filler, PositiveUnitBall) {
  const auto values = filled("type: 'positive_unitball'", {3, 4, 5});
  for (int slice = 0; slice < 3; ++slice) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) {
      EXPECT_GE(values[static_cast<std::size_t>(20 * slice + i)], 0);
      sum += static_cast<double>(values[static_cast<std::size_t>(20 * slice + i)]);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(Filler, XavierAndMsraScaleByFan) {
  // Weights 50 x 20 x 5 x 5: fan_in 500, fan_out 1250.
  const Shape shape = {50, 20, 5, 5};
  const auto range = [&](const std::string& norm) {
    const auto values = filled("type: 'xavier' " + norm, shape);
    return static_cast<double>(*std::max_element(values.begin(), values.end()));
  };
  EXPECT_NEAR(range(""), std::sqrt(3.0 / 500), 1e-4);
  EXPECT_NEAR(range("variance_norm: FAN_OUT"), std::sqrt(3.0 / 1250), 1e-4);
  EXPECT_NEAR(range("variance_norm: AVERAGE"), std::sqrt(3.0 / 875), 1e-4);
  EXPECT_NEAR(deviation(filled("type: 'msra'", shape)), std::sqrt(2.0 / 500), 1e-3);
  EXPECT_NEAR(deviation(filled("type: 'msra' variance_norm: FAN_OUT", shape)),
              std::sqrt(2.0 / 1250), 1e-3);
  // One axis: fan_in is 1, fan_out all.
  const auto bias = filled("type: 'xavier'", {10000});
  EXPECT_NEAR(*std::max_element(bias.begin(), bias.end()), std::sqrt(3.0), 1e-3);
}

TEST(Filler, Bilinear) {
  EXPECT_THAT(filled("type: 'bilinear'", {1, 1, 3, 3}),
              testing::ElementsAre(0.25f, 0.5f, 0.25f, 0.5f, 1, 0.5f, 0.25f, 0.5f, 0.25f));
  const auto four = filled("type: 'bilinear'", {2, 1, 4, 4});
  EXPECT_FLOAT_EQ(four[0], 0.0625f);
  EXPECT_FLOAT_EQ(four[5], 0.5625f);
  EXPECT_FLOAT_EQ(four[16 + 5], 0.5625f);
}

TEST(Filler, DependsOnStreamAndStepOnly) {
  for (const char* text : {"type: 'gaussian'", "type: 'gaussian' sparse: 3", "type: 'uniform'",
                           "type: 'xavier'", "type: 'msra'", "type: 'positive_unitball'"}) {
    const Shape shape = {7, 3001};
    EXPECT_EQ(filled(text, shape), filled(text, shape, 0, 3));
    EXPECT_NE(filled(text, shape), filled(text, shape, 1));
    EXPECT_NE(filled(text, shape), filled(text, shape, 0, 1, 2));
  }
  EXPECT_EQ(filled("type: 'bilinear'", {50, 50, 4, 4}),
            filled("type: 'bilinear'", {50, 50, 4, 4}, 0, 3));
  EXPECT_THAT(filled("value: 2", {7, 3001}, 0, 3), testing::Each(2.0f));
}

TEST(Filler, Errors) {
  const auto error = [](const std::string& text, const Shape& shape = {4, 3}) {
    return error_of([&] { check_filler(filler(text), shape); });
  };
  EXPECT_EQ(error("type: 'gausian'"),
            "unknown filler type \"gausian\"; did you mean \"gaussian\"?");
  EXPECT_EQ(error("type: 'glorot'"),
            "unknown filler type \"glorot\"; there are bilinear, constant, gaussian, msra, "
            "positive_unitball, uniform, xavier");
  EXPECT_EQ(error("type: 'gaussian' std: 0"), "std 0 of a gaussian filler must be greater than 0");
  EXPECT_EQ(error("type: 'gaussian' sparse: -2"),
            "sparse -2 must be at least 0 (or -1: not sparse)");
  EXPECT_EQ(error("type: 'gaussian' sparse: 5"),
            "sparse 5 is more than the first dimension of the parameter 4x3");
  EXPECT_EQ(error("type: 'xavier' sparse: 1"),
            "sparse is for the gaussian filler, not for \"xavier\"");
  EXPECT_EQ(error("type: 'uniform' min: 2"), "min 2 of a uniform filler is greater than max 1");
  EXPECT_EQ(error("type: 'bilinear'"),
            "a bilinear filler needs 4-D weights with a square kernel, not 4x3");
  EXPECT_EQ(error("type: 'bilinear'", {1, 1, 3, 4}),
            "a bilinear filler needs 4-D weights with a square kernel, not 1x1x3x4");
}

}  // namespace
}  // namespace crema::test
