#include <algorithm>
#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "", const std::string& name = "drop",
                  const std::string& phase = "TRAIN") {
  return "name: '" + name + "' type: 'Dropout' bottom: 'x' top: 'y' phase: " + phase +
         " dropout_param { " + fields + " }";
}

const Blob kOnes = {{100, 101}, std::vector<float>(10100, 1.0f)};

Result masked(const std::string& text, std::uint64_t pass = 0, std::uint64_t seed = 7,
              int threads = 1) {
  RunOptions options;
  options.pass = pass;
  options.threads = threads;
  const auto layer = make(text);
  layer->set_seed(seed);
  return run(*layer, {kOnes}, {}, {kOnes}, options);
}

TEST(Dropout, KeepsAndScales) {
  const Result result = masked(layer("dropout_ratio: 0.2"));
  const std::vector<float>& values = result.tops[0].values;
  EXPECT_THAT(values, testing::Each(testing::AnyOf(0.0f, testing::FloatEq(1.25f))));
  const auto dropped = std::count(values.begin(), values.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / 10100, 0.2, 0.015);
  // Backward has the same mask.
  EXPECT_EQ(result.bottom_gradients[0].values, values);
}

TEST(Dropout, MaskDependsOnSeedNameAndPassOnly) {
  const auto mask = [](const Result& result) { return result.tops[0].values; };
  const std::vector<float> one = mask(masked(layer()));
  EXPECT_EQ(mask(masked(layer(), 0, 7, 3)), one);
  EXPECT_NE(mask(masked(layer(), 1)), one);
  EXPECT_NE(mask(masked(layer(), 0, 8)), one);
  EXPECT_NE(mask(masked(layer("", "other"))), one);
}

TEST(Dropout, Grid) {
  check_layer(layer(), {spread({2, 15})}, {});
  check_layer(layer(), {spread({2, 3, 4, 2})}, {});
  check_layer(layer("dropout_ratio: 0.7", "drop", "TEST"), {spread({2, 3, 4, 2})}, {});
  check_layer(layer("dropout_ratio: 0"), {spread({2, 3, 4, 2})}, {});
}

TEST(Dropout, EveryLayoutHasTheSameMask) {
  const Blob ones = {{2, 3, 20}, std::vector<float>(120, 1.0f)};
  RunOptions options;
  options.layout = 1;
  const Result result = run(*make(layer()), {ones}, {}, {ones}, options);
  EXPECT_EQ(result.bottom_gradients[0].values, result.tops[0].values);
  EXPECT_EQ(result.tops[0].values, run(*make(layer()), {ones}, {}, {ones}).tops[0].values);
}

TEST(Dropout, IsAViewWhenItDoesNothing) {
  EXPECT_FALSE(make(layer())->is_view(0));
  EXPECT_TRUE(make(layer("", "drop", "TEST"))->is_view(0));
  EXPECT_TRUE(make(layer("", "drop", "TEST"))->is_gradient_view());
  EXPECT_TRUE(make(layer("dropout_ratio: 0"))->is_view(0));
  const Blob x = spread({2, 3});
  EXPECT_EQ(run(*make(layer("", "drop", "TEST")), {x}, {}, {x}).tops[0].values, x.values);
}

TEST(Dropout, Errors) {
  EXPECT_EQ(infer_error(layer("dropout_ratio: 1"), {{2, 3}}),
            "dropout_param.dropout_ratio 1 is not in 0 <= ratio < 1 (1 would drop everything)");
  EXPECT_EQ(infer_error(layer("dropout_ratio: -0.5"), {{2, 3}}),
            "dropout_param.dropout_ratio -0.5 is not in 0 <= ratio < 1 (1 would drop everything)");
  EXPECT_EQ(infer_error(layer("dropout_ratio: nan"), {{2, 3}}),
            "dropout_param.dropout_ratio nan is not in 0 <= ratio < 1 (1 would drop everything)");
}

}  // namespace
}  // namespace crema::test
