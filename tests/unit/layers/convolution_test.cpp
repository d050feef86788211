#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return R"(name: "conv" type: "Convolution" bottom: "x" top: "y" convolution_param { )" + fields +
         " }";
}

void check(const std::string& fields, const std::vector<Blob>& bottoms, Shape top, Shape weights) {
  const auto made = make(layer(fields));
  const Inference inference = made->infer({bottoms[0].shape});
  EXPECT_EQ(inference.tops[0], top) << fields;
  EXPECT_EQ(inference.params[0].shape, weights) << fields;
  check_layer(layer(fields), bottoms, spread_params(*made, bottoms));
}

TEST(Convolution, ByHand) {
  const auto made = make(layer("num_output: 1 kernel_size: 2"));
  const Result result = run(*made, {blob({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})},
                            {blob({1, 1, 2, 2}, {1, 10, 100, 1000}), blob({1}, {0.5f})},
                            {blob({1, 1, 1, 2}, {1, 2})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(5421.5f, 6532.5f));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, 12, 20, 100, 1200, 2000));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(5, 8, 14, 17));
  EXPECT_THAT(result.param_gradients[1].values, testing::ElementsAre(3));
}

TEST(Convolution, Grid) {
  check("num_output: 4 kernel_size: 3", {spread({2, 3, 7, 6})}, {2, 4, 5, 4}, {4, 3, 3, 3});
  check("num_output: 5 kernel_size: 1", {spread({2, 3, 4, 3})}, {2, 5, 4, 3}, {5, 3, 1, 1});
  check("num_output: 4 kernel_size: 3 group: 2", {spread({2, 4, 6, 5})}, {2, 4, 4, 3},
        {4, 2, 3, 3});
  check("num_output: 4 kernel_size: 3 group: 4 pad: 1 stride: 2 bias_term: false",
        {spread({2, 4, 7, 7})}, {2, 4, 4, 4}, {4, 1, 3, 3});
  check("num_output: 2 kernel_size: 3 dilation: 2 pad: 2", {spread({1, 2, 6, 5})}, {1, 2, 6, 5},
        {2, 2, 3, 3});
  check("num_output: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1",
        {spread({2, 3, 7, 6})}, {2, 2, 4, 5}, {2, 3, 3, 2});
  check("num_output: 2 kernel_size: 3 kernel_size: 1 stride: 1 stride: 2 pad: 2 pad: 0",
        {spread({2, 3, 5, 6})}, {2, 2, 7, 3}, {2, 3, 3, 1});
  check("num_output: 2 kernel_size: 2 pad: 3", {spread({1, 2, 4, 3})}, {1, 2, 9, 8}, {2, 2, 2, 2});
}

TEST(Convolution, AnyNumberOfSpatialAxes) {
  check("num_output: 4", {spread({3, 5})}, {3, 4}, {4, 5});
  check("num_output: 4 kernel_size: 3 stride: 2 pad: 1", {spread({2, 3, 11})}, {2, 4, 6},
        {4, 3, 3});
  check(
      "num_output: 2 kernel_size: 2 kernel_size: 3 kernel_size: 2 pad: 1 stride: 1 stride: 2 "
      "stride: 1",
      {spread({2, 2, 3, 4, 3})}, {2, 2, 4, 2, 4}, {2, 2, 2, 3, 2});
  check("num_output: 4 kernel_size: 2 axis: 2", {spread({2, 3, 3, 6})}, {2, 3, 4, 5}, {4, 3, 2});
  check("num_output: 2 kernel_size: 3 axis: -3 pad: 1", {spread({2, 3, 4, 3})}, {2, 2, 4, 3},
        {2, 3, 3, 3});
}

TEST(Convolution, KernelPastTheEndByLessThanTheStride) {
  check("num_output: 2 kernel_size: 4 stride: 2", {spread({1, 2, 3, 6})}, {1, 2, 1, 2},
        {2, 2, 4, 4});
}

TEST(Convolution, SeveralBottomsShareParameters) {
  const std::string text = R"(type: "Convolution" bottom: "a" bottom: "b" top: "c" top: "d"
                              convolution_param { num_output: 3 kernel_size: 2 })";
  const std::vector<Blob> bottoms = {spread({2, 2, 4, 4}, -1, 1, 1),
                                     spread({2, 2, 4, 4}, -1, 1, 2)};
  check_layer(text, bottoms, spread_params(*make(text), bottoms));

  // No gradient arrives at the first: its bottom gets zeros, the parameters what the second gives.
  const auto made = make(text);
  const std::vector<Blob> params = spread_params(*made, bottoms);
  std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  gradients[0].values.clear();
  const Result half = run(*made, bottoms, params, gradients);
  EXPECT_THAT(half.bottom_gradients[0].values, testing::Each(0.0f));
  gradients[0].values.assign(gradients[1].values.size(), 0.0f);
  const Result zeros = run(*made, bottoms, params, gradients);
  expect_near(half.param_gradients[0], zeros.param_gradients[0], 1e-6, "weights");
  expect_near(half.bottom_gradients[1], zeros.bottom_gradients[1], 1e-6, "bottom 1");
}

TEST(Convolution, EachGradientByItself) {
  const auto made = make(layer("num_output: 3 kernel_size: 2"));
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

TEST(Convolution, CountsWork) {
  EXPECT_EQ(
      make(layer("num_output: 4 kernel_size: 3 group: 2"))->infer({{2, 4, 6, 5}}).multiply_adds,
      2 * 4 * (4 * 3) * (2 * 9));
}

TEST(Convolution, AcceptsCudnnAsAHint) {
  EXPECT_NO_THROW(make(layer("num_output: 1 kernel_size: 1 engine: CUDNN"))->infer({{1, 1, 2, 2}}));
}

TEST(Convolution, SizesBeyond64Bits) {
  const std::vector<Shape> image = {{2, 4, 5, 5}};
  const std::string largest = "4294967295";
  EXPECT_EQ(
      infer_error(layer("num_output: 1 kernel_size: " + largest + " dilation: " + largest), image),
      "the kernel 4294967295 (dilation 4294967295) is larger than the padded input: input 5 "
      "(2x4x5x5), pad 0 on both sides");
  EXPECT_EQ(infer_error(layer("num_output: 1 kernel_size: " + largest), image),
            "the kernel 4294967295 is larger than the padded input: input 5 (2x4x5x5), pad 0 on "
            "both sides");
  EXPECT_THAT(infer_error(layer("num_output: 1 kernel_size: 1 pad: " + largest), image),
              testing::HasSubstr("too large"));
  const std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(infer_error(layer("num_output: 1 kernel_size: 1 pad: 1"), {{0, 1, endless}}),
            "the padded input is too large: 9223372036854775807, pad 1 on both sides");
  EXPECT_EQ(
      infer_error(layer("num_output: 16777216 kernel_size: 1"), {{1, 1 << 24, 1 << 10, 1 << 10}}),
      "the layer is too large: a pass takes more than 72057594037927936 multiply-adds");
}

TEST(Convolution, Errors) {
  const std::vector<Shape> image = {{2, 4, 5, 5}};
  const auto error = [&](const std::string& fields) { return infer_error(layer(fields), image); };
  EXPECT_EQ(error("kernel_size: 1"),
            "convolution_param.num_output is missing: the number of outputs must be given");
  EXPECT_EQ(error("num_output: 0 kernel_size: 1"),
            "convolution_param.num_output is 0, it must be at least 1");
  EXPECT_EQ(error("num_output: 1"), "convolution_param.kernel_size is missing");
  EXPECT_EQ(error("num_output: 1 kernel_size: 0"),
            "convolution_param.kernel_size is 0, it must be at least 1");
  EXPECT_EQ(error("num_output: 1 kernel_size: 3 kernel_h: 3 kernel_w: 3"),
            "convolution_param.kernel_size is given together with kernel_h or kernel_w; give one "
            "kind only");
  EXPECT_EQ(error("num_output: 1 kernel_h: 3"),
            "convolution_param.kernel_w is missing: kernel_h and kernel_w go together");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 stride: 1 stride: 1 stride: 1"),
            "convolution_param.stride is given 3 times for 2 spatial axes; give it once or once an "
            "axis");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 stride: 0"),
            "convolution_param.stride is 0, it must be at least 1");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 stride_w: 2"),
            "convolution_param.stride_h is missing: stride_h and stride_w go together");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 stride: 1 stride_h: 1 stride_w: 1"),
            "convolution_param.stride is given together with stride_h or stride_w; give one kind "
            "only");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 pad: 1 pad_h: 1"),
            "convolution_param.pad is given together with pad_h or pad_w; give one kind only");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 dilation: 0"),
            "convolution_param.dilation is 0, it must be at least 1");
  EXPECT_EQ(error("num_output: 3 kernel_size: 1 group: 3"),
            "convolution_param.group 3 does not divide the 4 channels of the bottom (2x4x5x5)");
  EXPECT_EQ(error("num_output: 3 kernel_size: 1 group: 2"),
            "convolution_param.group 2 does not divide num_output 3");
  EXPECT_EQ(error("num_output: 2 kernel_size: 1 group: 0"),
            "convolution_param.group is 0, it must be at least 1");
  EXPECT_EQ(error("num_output: 1 kernel_size: 8 pad: 1"),
            "the kernel 8 is larger than the padded input: input 5 (2x4x5x5), pad 1 on both sides");
  EXPECT_EQ(error("num_output: 1 kernel_size: 4 dilation: 3"),
            "the kernel 4 (dilation 3, so 10) is larger than the padded input: input 5 (2x4x5x5), "
            "pad 0 on both sides");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 axis: 4"),
            "convolution_param.axis: axis 4 does not exist in a blob of 4 axes (2x4x5x5)");
  EXPECT_EQ(infer_error(layer("num_output: 1 kernel_h: 2 kernel_w: 2"), {{2, 4, 5}}),
            "convolution_param.kernel_h and kernel_w are for 2 spatial axes, not 1");
  EXPECT_EQ(error("num_output: 1 kernel_size: 1 weight_filler { type: 'glorot' }"),
            "convolution_param.weight_filler: unknown filler type \"glorot\"; there are bilinear, "
            "constant, gaussian, msra, positive_unitball, uniform, xavier");
  EXPECT_EQ(infer_error(layer("num_output: 1 kernel_size: 1"), {{2, 4, 5, 5}, {2, 4, 4, 5}}),
            "all bottoms must have one shape: bottom 0 is 2x4x5x5, bottom 1 is 2x4x4x5");
}

}  // namespace
}  // namespace crema::test
