#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return R"(name: "up" type: "Deconvolution" bottom: "x" top: "y" convolution_param { )" + fields +
         " }";
}

void check(const std::string& fields, const std::vector<Blob>& bottoms, Shape top, Shape weights) {
  SCOPED_TRACE(fields);
  const auto made = make(layer(fields));
  const Inference inference = made->infer({bottoms[0].shape});
  EXPECT_EQ(inference.tops[0], top);
  EXPECT_EQ(inference.params[0].shape, weights);
  check_layer(layer(fields), bottoms, spread_params(*made, bottoms));
}

TEST(Deconvolution, ByHand) {
  const auto made = make(layer("num_output: 1 kernel_size: 2 stride: 2 pad: 0"));
  const Result result = run(*made, {blob({1, 1, 1, 2}, {1, 2})},
                            {blob({1, 1, 2, 2}, {1, 10, 100, 1000}), blob({1}, {0.5f})},
                            {blob({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_THAT(result.tops[0].values,
              testing::ElementsAre(1.5f, 10.5f, 2.5f, 20.5f, 100.5f, 1000.5f, 200.5f, 2000.5f));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(6521, 8743));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(7, 10, 19, 22));
  EXPECT_THAT(result.param_gradients[1].values, testing::ElementsAre(36));
}

TEST(Deconvolution, IsTheTransposeOfConvolution) {
  // <conv(x), y> = <x, deconv(y)> for one W and no bias.
  const std::string fields =
      "num_output: 6 kernel_size: 3 kernel_size: 2 stride: 2 pad: 1 group: 2 bias_term: false";
  const std::string back =
      "num_output: 4 kernel_size: 3 kernel_size: 2 stride: 2 pad: 1 group: 2 bias_term: false";
  const auto convolution =
      make(R"(type: "Convolution" bottom: "x" top: "y" convolution_param { )" + fields + " }");
  const auto deconvolution = make(layer(back));
  const Blob x = spread({2, 4, 7, 8});
  const Blob w = spread({6, 2, 3, 2}, -1, 1, 3);
  const Blob y = run(*convolution, {x}, {w}, {}).tops[0];
  ASSERT_EQ(y.shape, Shape({2, 6, 4, 5}));
  const Blob z = spread(y.shape, -1, 1, 5);
  const Blob up = run(*deconvolution, {z}, {w}, {}).tops[0];
  ASSERT_EQ(up.shape, x.shape);
  double left = 0, right = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    left += static_cast<double>(y.values[i]) * static_cast<double>(z.values[i]);
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    right += static_cast<double>(x.values[i]) * static_cast<double>(up.values[i]);
  }
  EXPECT_NEAR(left, right, 1e-5 * (1 + std::abs(left)));
}

TEST(Deconvolution, Grid) {
  check("num_output: 4 kernel_size: 3", {spread({2, 3, 4, 5})}, {2, 4, 6, 7}, {3, 4, 3, 3});
  check("num_output: 5 kernel_size: 1", {spread({2, 3, 4, 3})}, {2, 5, 4, 3}, {3, 5, 1, 1});
  check("num_output: 4 kernel_size: 4 stride: 2 pad: 1", {spread({2, 3, 3, 4})}, {2, 4, 6, 8},
        {3, 4, 4, 4});
  check("num_output: 6 kernel_size: 3 group: 2 stride: 2", {spread({2, 4, 3, 2})}, {2, 6, 7, 5},
        {4, 3, 3, 3});
  check("num_output: 2 kernel_size: 3 dilation: 2 pad: 2", {spread({1, 2, 4, 5})}, {1, 2, 4, 5},
        {2, 2, 3, 3});
  check("num_output: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1",
        {spread({2, 3, 3, 4})}, {2, 2, 5, 5}, {3, 2, 3, 2});
  check("num_output: 16 kernel_size: 3 stride: 2 pad: 1", {spread({2, 16, 3, 3})}, {2, 16, 5, 5},
        {16, 16, 3, 3});
  check("num_output: 3 kernel_size: 1 stride: 3", {spread({1, 2, 3, 2})}, {1, 3, 7, 4},
        {2, 3, 1, 1});
}

TEST(Deconvolution, OneChannelAGroup) {
  check("num_output: 5 group: 5 kernel_size: 4 stride: 2 pad: 1 bias_term: false",
        {spread({2, 5, 4, 3})}, {2, 5, 8, 6}, {5, 1, 4, 4});
  check("num_output: 4 group: 4 kernel_size: 3", {spread({2, 4, 4, 9})}, {2, 4, 6, 11},
        {4, 1, 3, 3});
  // Two channels of the bottom for each of the top, and the other way round.
  check("num_output: 2 group: 2 kernel_size: 3 stride: 2", {spread({2, 4, 3, 3})}, {2, 2, 7, 7},
        {4, 1, 3, 3});
  check("num_output: 6 group: 3 kernel_size: 3 stride: 2 dilation: 2", {spread({1, 3, 3, 3})},
        {1, 6, 9, 9}, {3, 2, 3, 3});
}

TEST(Deconvolution, AnyNumberOfSpatialAxes) {
  check("num_output: 4", {spread({3, 5})}, {3, 4}, {5, 4});
  check("num_output: 4 kernel_size: 3 stride: 2 pad: 1", {spread({2, 3, 6})}, {2, 4, 11},
        {3, 4, 3});
  check(
      "num_output: 2 kernel_size: 2 kernel_size: 3 kernel_size: 2 pad: 1 stride: 1 stride: 2 "
      "stride: 1",
      {spread({2, 2, 3, 2, 3})}, {2, 2, 2, 3, 2}, {2, 2, 2, 3, 2});
  check("num_output: 4 kernel_size: 2 axis: 2", {spread({2, 3, 3, 6})}, {2, 3, 4, 7}, {3, 4, 2});
  check("num_output: 2 kernel_size: 3 axis: -3 pad: 1", {spread({2, 3, 4, 3})}, {2, 2, 4, 3},
        {3, 2, 3, 3});
}

TEST(Deconvolution, SeveralBottomsShareParameters) {
  const std::string text = R"(type: "Deconvolution" bottom: "a" bottom: "b" top: "c" top: "d"
                              convolution_param { num_output: 3 kernel_size: 2 stride: 2 })";
  const std::vector<Blob> bottoms = {spread({2, 2, 3, 3}, -1, 1, 1),
                                     spread({2, 2, 3, 3}, -1, 1, 2)};
  check_layer(text, bottoms, spread_params(*make(text), bottoms));
}

TEST(Deconvolution, EachGradientByItself) {
  const auto made = make(layer("num_output: 3 kernel_size: 2 stride: 2"));
  const std::vector<Blob> bottoms = {spread({2, 2, 4, 4})};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  const std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  const Result all = run(*made, bottoms, params, gradients);
  for (int layout = 0; layout < layout_count(*made, bottoms); ++layout) {
    RunOptions options;
    options.layout = layout;
    options.bottom_gradients = {0};
    options.param_gradients = {0, 1};
    Result one = run(*made, bottoms, params, gradients, options);
    expect_near(one.param_gradients[1], all.param_gradients[1], 1e-5, "bias only");
    options.param_gradients = {1, 0};
    one = run(*made, bottoms, params, gradients, options);
    expect_near(one.param_gradients[0], all.param_gradients[0], 1e-5, "weights only");
    options.bottom_gradients = {1};
    options.param_gradients = {0, 0};
    one = run(*made, bottoms, params, gradients, options);
    expect_near(one.bottom_gradients[0], all.bottom_gradients[0], 1e-5, "bottom only");
  }
}

TEST(Deconvolution, EmptyBatch) {
  const auto made = make(layer("num_output: 3 kernel_size: 2 stride: 2"));
  const std::vector<Blob> bottoms = {blob({0, 2, 4, 4}, {})};
  const Result result =
      run(*made, bottoms, spread_params(*made, bottoms), {blob({0, 3, 8, 8}, {})});
  EXPECT_EQ(result.tops[0].shape, Shape({0, 3, 8, 8}));
  EXPECT_THAT(result.param_gradients[0].values, testing::Each(0.0f));
}

TEST(Deconvolution, WithoutPixelsTheTopIsTheBias) {
  for (const char* group : {"group: 1", "group: 2"}) {
    const auto made = make(layer(std::string("num_output: 2 kernel_size: 3 ") + group));
    const std::vector<Blob> bottoms = {blob({1, 2, 0, 2}, {})};
    std::vector<Blob> params = spread_params(*made, bottoms);
    params[1].values = {3, 4};
    const Result result = run(*made, bottoms, params, spread_gradients(*made, bottoms));
    EXPECT_EQ(result.tops[0].shape, Shape({1, 2, 2, 4}));
    EXPECT_THAT(result.tops[0].values,
                testing::ElementsAre(3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4));
    EXPECT_THAT(result.param_gradients[0].values, testing::Each(0.0f));
  }
}

TEST(Deconvolution, CountsWork) {
  EXPECT_EQ(
      make(layer("num_output: 4 kernel_size: 3 group: 2"))->infer({{2, 6, 5, 4}}).multiply_adds,
      2 * 5 * 4 * (6 * 2 * 9));
}

TEST(Deconvolution, Errors) {
  const std::vector<Shape> image = {{2, 4, 5, 5}};
  const auto error = [&](const std::string& fields) { return infer_error(layer(fields), image); };
  EXPECT_EQ(error("kernel_size: 1"),
            "convolution_param.num_output is missing: the number of outputs must be given");
  EXPECT_EQ(error("num_output: 3 kernel_size: 1 group: 2"),
            "convolution_param.group 2 does not divide num_output 3");
  EXPECT_EQ(error("num_output: 3 kernel_size: 1 group: 3"),
            "convolution_param.group 3 does not divide the 4 channels of the bottom (2x4x5x5)");
  EXPECT_EQ(error("num_output: 1 kernel_size: 3 dilation: 2 pad: 5"),
            "nothing is left of the output: stride 1 * (input 5 - 1) + kernel 3 (dilation 2, so 5) "
            "- 2 * pad 5 is -1 (2x4x5x5)");
  EXPECT_EQ(error("num_output: 1 kernel_size: 2 kernel_size: 2 kernel_size: 2"),
            "convolution_param.kernel_size is given 3 times for 2 spatial axes; give it once or "
            "once an axis");
  const std::string largest = "4294967295";
  EXPECT_EQ(error("num_output: 1 kernel_size: " + largest + " dilation: " + largest),
            "the output is too large: input 5 (2x4x5x5), kernel 4294967295 (dilation 4294967295), "
            "stride 1");
  EXPECT_THAT(error("num_output: 1 kernel_size: " + largest + " stride: " + largest),
              testing::HasSubstr("too large"));
  EXPECT_EQ(infer_error(R"(type: "Deconvolution" bottom: "a" bottom: "b" top: "c" top: "d"
                           convolution_param { num_output: 1 kernel_size: 1 })",
                        {{1, 2, 3, 3}, {1, 2, 3, 4}}),
            "all bottoms must have one shape: bottom 0 is 1x2x3x3, bottom 1 is 1x2x3x4");
}

}  // namespace
}  // namespace crema::test
