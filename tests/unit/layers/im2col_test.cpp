#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return R"(type: "Im2col" bottom: "x" top: "y" convolution_param { )" + fields + " }";
}

void check(const std::string& fields, const Blob& bottom, Shape top) {
  SCOPED_TRACE(fields);
  EXPECT_EQ(make(layer(fields))->infer({bottom.shape}).tops[0], top);
  check_layer(layer(fields), {bottom}, {});
}

TEST(Im2col, ByHand) {
  const auto made = make(layer("kernel_size: 2"));
  const Result result = run(*made, {blob({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})}, {},
                            {blob({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(1, 2, 2, 3, 4, 5, 5, 6));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, 5, 4, 5, 13, 8));
}

TEST(Im2col, Grid) {
  check("kernel_size: 3 pad: 1 stride: 2", spread({2, 3, 5, 6}), {2, 27, 3, 3});
  check("kernel_h: 1 kernel_w: 3 pad_w: 2", spread({2, 2, 3, 4}), {2, 6, 3, 6});
  check("kernel_size: 2 dilation: 2", spread({1, 2, 4, 5}), {1, 8, 2, 3});
  check("kernel_size: 1", spread({2, 3, 2, 2}), {2, 3, 2, 2});
  check("kernel_size: 3", spread({2, 2, 7}), {2, 6, 5});
  check("kernel_size: 2 pad: 1 pad: 0 pad: 0", spread({1, 2, 2, 3, 3}), {1, 16, 3, 2, 2});
  check("kernel_size: 2 axis: 2", spread({2, 2, 3, 4}), {2, 2, 6, 3});
  check("kernel_size: 2 axis: -3", spread({2, 2, 3, 4}), {2, 8, 2, 3});
  check("kernel_size: 2 axis: 0", spread({2, 3, 4}), {8, 2, 3});
}

TEST(Im2col, EmptyBatch) {
  const Result result =
      run(*make(layer("kernel_size: 2")), {blob({0, 2, 3, 3}, {})}, {}, {blob({0, 8, 2, 2}, {})});
  EXPECT_EQ(result.tops[0].shape, Shape({0, 8, 2, 2}));
}

TEST(Im2col, Errors) {
  EXPECT_EQ(infer_error(layer("kernel_size: 4"), {{1, 2, 3, 5}}),
            "the kernel 4 is larger than the padded input: input 3 (1x2x3x5), pad 0 on both sides");
  EXPECT_EQ(infer_error(layer(""), {{1, 2, 3, 5}}), "convolution_param.kernel_size is missing");
  EXPECT_EQ(infer_error(layer("kernel_size: 1"), {{1, 2}}),
            "there is no spatial axis after axis 1 of the bottom (1x2)");
  EXPECT_EQ(infer_error(layer("kernel_size: 1 stride: 0"), {{1, 2, 3, 5}}),
            "convolution_param.stride is 0, it must be at least 1");
}

}  // namespace
}  // namespace crema::test
