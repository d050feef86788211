#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return R"(type: "InnerProduct" bottom: "x" top: "y" inner_product_param { )" + fields + " }";
}

void check(const std::string& fields, const std::vector<Blob>& bottoms, Shape top, Shape weights) {
  const auto made = make(layer(fields));
  const Inference inference = made->infer({bottoms[0].shape});
  EXPECT_EQ(inference.tops[0], top) << fields;
  EXPECT_EQ(inference.params[0].shape, weights) << fields;
  check_layer(layer(fields), bottoms, spread_params(*made, bottoms));
}

TEST(InnerProduct, ByHand) {
  const Result result =
      run(*make(layer("num_output: 2")), {blob({2, 3}, {1, 2, 3, 4, 5, 6})},
          {blob({2, 3}, {1, 0, -1, 2, 2, 2}), blob({2}, {10, 20})}, {blob({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(8, 32, 8, 50));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(5, 4, 3, 11, 8, 5));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(13, 17, 21, 18, 24, 30));
  EXPECT_THAT(result.param_gradients[1].values, testing::ElementsAre(4, 6));
}

TEST(InnerProduct, Grid) {
  check("num_output: 4", {spread({3, 5})}, {3, 4}, {4, 5});
  check("num_output: 4", {spread({2, 3, 2, 2})}, {2, 4}, {4, 12});
  check("num_output: 4 bias_term: false", {spread({2, 3, 2, 2})}, {2, 4}, {4, 12});
  check("num_output: 4 transpose: true", {spread({2, 3, 2, 2})}, {2, 4}, {12, 4});
  check("num_output: 3 axis: 0", {spread({2, 3, 2})}, {3}, {3, 12});
  check("num_output: 3 axis: -1", {spread({2, 3, 4})}, {2, 3, 3}, {3, 4});
}

TEST(InnerProduct, TakesChannelsLast) {
  const std::vector<Blob> image = {spread({2, 3, 2, 2})};
  EXPECT_EQ(layout_count(*make(layer("num_output: 4")), image), 2);
  EXPECT_EQ(layout_count(*make(layer("num_output: 4 transpose: true")), image), 1);
  EXPECT_EQ(layout_count(*make(layer("num_output: 4 axis: 2")), image), 1);
}

TEST(InnerProduct, EachGradientByItself) {
  const auto made = make(layer("num_output: 3"));
  const std::vector<Blob> bottoms = {spread({2, 4})};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  const std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  const Result all = run(*made, bottoms, params, gradients);
  RunOptions options;
  options.bottom_gradients = {0};
  options.param_gradients = {0, 1};
  expect_near(run(*made, bottoms, params, gradients, options).param_gradients[1],
              all.param_gradients[1], 1e-6, "bias only");
  options.param_gradients = {1, 0};
  expect_near(run(*made, bottoms, params, gradients, options).param_gradients[0],
              all.param_gradients[0], 1e-6, "weights only");
}

TEST(InnerProduct, FusedReluIsReluAfterIt) {
  const auto made = make(layer("num_output: 4"));
  const std::vector<Blob> bottoms = {spread({3, 5})};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  const std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  for (const float slope : {0.0f, 0.25f}) {
    const auto relu = make(fmt::format(
        R"(type: "ReLU" bottom: "y" top: "z" relu_param {{ negative_slope: {} }})", slope));
    const Result product = run(*made, bottoms, params, gradients);
    const Result rectified = run(*relu, {product.tops[0]}, {}, gradients);
    const Result expected = run(*made, bottoms, params, {rectified.bottom_gradients[0]});
    RunOptions options;
    options.fused_relu = true;
    options.fused_relu_slope = slope;
    const Result fused = run(*made, bottoms, params, gradients, options);
    expect_near(fused.tops[0], rectified.tops[0], 1e-6, "top");
    expect_near(fused.bottom_gradients[0], expected.bottom_gradients[0], 1e-6, "bottom");
    expect_near(fused.param_gradients[0], expected.param_gradients[0], 1e-6, "weights");
    expect_near(fused.param_gradients[1], expected.param_gradients[1], 1e-6, "bias");
  }
}

TEST(InnerProduct, Errors) {
  EXPECT_EQ(infer_error(layer(""), {{2, 3}}),
            "inner_product_param.num_output is missing: the number of outputs must be given");
  EXPECT_EQ(infer_error(layer("num_output: 0"), {{2, 3}}),
            "inner_product_param.num_output is 0, it must be at least 1");
  EXPECT_EQ(infer_error(layer("num_output: 2 axis: 2"), {{2, 3}}),
            "inner_product_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
  EXPECT_EQ(infer_error(layer("num_output: 2 bias_filler { type: 'xavire' }"), {{2, 3}}),
            "inner_product_param.bias_filler: unknown filler type \"xavire\"; did you mean "
            "\"xavier\"?");
  EXPECT_EQ(infer_error(layer("num_output: 1073741824"), {{1 << 20, 1 << 20}}),
            "the layer is too large: a pass takes more than 72057594037927936 multiply-adds");
}

}  // namespace
}  // namespace crema::test
