#include <algorithm>
#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields, const std::string& tops = R"(top: "y")") {
  return R"(name: "pool" type: "Pooling" bottom: "x" )" + tops + " pooling_param { " + fields +
         " }";
}

Shape top_of(const std::string& fields, Shape bottom) {
  return make(layer(fields))->infer({bottom}).tops[0];
}

TEST(Pooling, OutputSizes) {
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2", {2, 2, 6, 7}), Shape({2, 2, 3, 4}));
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2", {1, 1, 6, 8}), Shape({1, 1, 3, 4}));
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2 round_mode: FLOOR", {1, 1, 6, 8}),
            Shape({1, 1, 2, 3}));
  // The last window would start at 5 + 1 and 4 + 1: the first is dropped, the second is not
  // reached.
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 pad: 1", {1, 2, 5, 4}), Shape({1, 2, 3, 3}));
  EXPECT_EQ(top_of("kernel_size: 2", {1, 2, 4, 5}), Shape({1, 2, 3, 4}));
  EXPECT_EQ(top_of("pool: AVE global_pooling: true", {2, 3, 5, 4}), Shape({2, 3, 1, 1}));
  EXPECT_EQ(
      top_of("kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 3 pad_h: 1 pad_w: 0", {2, 1, 7, 8}),
      Shape({2, 1, 4, 3}));
  // Larger than the image by less than the stride.
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2", {1, 1, 2, 2}), Shape({1, 1, 1, 1}));
  EXPECT_EQ(make(layer("kernel_size: 2"))->infer({{1, 2, 4, 5}}).multiply_adds, 2 * 3 * 4 * 4);
}

TEST(Pooling, MaxByHand) {
  const auto made = make(layer("kernel_size: 2 stride: 2", R"(top: "y" top: "mask")"));
  const Result result = run(*made, {blob({1, 1, 2, 4}, {1, 5, 3, 3, 2, 5, 3, 3})}, {},
                            {blob({1, 1, 1, 2}, {10, 20}), blob({1, 1, 1, 2}, {99, 99})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(5, 3));
  EXPECT_THAT(result.tops[1].values, testing::ElementsAre(1, 2));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(0, 10, 20, 0, 0, 0, 0, 0));
}

TEST(Pooling, AveragesCountPaddingButNotTheOverhang) {
  const Blob ones = blob({1, 1, 2, 2}, {1, 1, 1, 1});
  auto made = make(layer("pool: AVE kernel_size: 3 stride: 1 pad: 1"));
  expect_near(run(*made, {ones}, {}, {}).tops[0],
              blob({1, 1, 2, 2}, std::vector<float>(4, 4.0f / 9)), 1e-6, "padded");
  made = make(layer("pool: AVE kernel_size: 3 stride: 2"));
  const Blob image = blob({1, 1, 4, 4}, std::vector<float>(16, 1.0f));
  EXPECT_THAT(run(*made, {image}, {}, {}).tops[0].values, testing::Each(1.0f));
}

TEST(Pooling, Grid) {
  for (const char* pool : {"MAX", "AVE"}) {
    for (const char* fields :
         {"kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2", "kernel_size: 3 stride: 1",
          "kernel_size: 3 stride: 2 pad: 1", "kernel_size: 2 stride: 2 pad: 1",
          "kernel_size: 2 stride: 3", "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR",
          "global_pooling: true", "kernel_h: 3 kernel_w: 1 stride_h: 2 stride_w: 1"}) {
      const std::string text = layer(std::string("pool: ") + pool + " " + fields);
      check_layer(text, {spread({2, 3, 5, 8})}, {}, 2e-3, 5e-3);
    }
  }
  check_layer(layer("kernel_size: 2 stride: 2", R"(top: "y" top: "mask")"), {spread({2, 3, 5, 4})},
              {}, 0);
}

TEST(Pooling, SizesBeyond64Bits) {
  const std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(infer_error(layer("kernel_size: 4294967295"), {{2, 4, 5, 5}}),
            "the kernel 4294967295 is larger than the padded input: height 5, pad 0 on both sides");
  EXPECT_EQ(infer_error(layer("kernel_size: 2 pad: 1"), {{0, 1, endless, 1}}),
            "the padded input is too large: 9223372036854775807, pad 1 on both sides");
  EXPECT_THAT(infer_error(layer("kernel_size: 4294967295 pad: 4294967294"), {{1, 1, 5, 5}}),
              testing::HasSubstr("too large"));
}

TEST(Pooling, Errors) {
  const std::vector<Shape> image = {{2, 4, 5, 5}};
  const auto error = [&](const std::string& fields) { return infer_error(layer(fields), image); };
  EXPECT_EQ(error(""), "pooling_param.kernel_size is missing");
  EXPECT_EQ(error("kernel_size: 0"), "pooling_param.kernel_size is 0, it must be at least 1");
  EXPECT_EQ(error("kernel_h: 2 kernel_w: 0"), "pooling_param.kernel_w is 0, it must be at least 1");
  EXPECT_EQ(error("kernel_h: 2"),
            "pooling_param.kernel_w is missing: kernel_h and kernel_w go together");
  EXPECT_EQ(error("kernel_size: 2 kernel_w: 2"),
            "pooling_param.kernel_size is given together with kernel_w; give one kind only");
  EXPECT_EQ(error("kernel_size: 3 pad: 3"), "pooling_param.pad 3 is not smaller than the kernel 3");
  EXPECT_EQ(error("kernel_size: 3 pad_h: 1 pad_w: 4"),
            "pooling_param.pad_w 4 is not smaller than the kernel 3");
  EXPECT_EQ(error("kernel_size: 3 pad: 1 pad_h: 1 pad_w: 1"),
            "pooling_param.pad is given together with pad_h; give one kind only");
  EXPECT_EQ(error("kernel_size: 3 pad_h: 1"),
            "pooling_param.pad_w is missing: pad_h and pad_w go together");
  EXPECT_EQ(error("kernel_size: 3 stride: 0"), "pooling_param.stride is 0, it must be at least 1");
  EXPECT_EQ(error("kernel_size: 3 stride_h: 1"),
            "pooling_param.stride_w is missing: stride_h and stride_w go together");
  EXPECT_EQ(error("global_pooling: true kernel_size: 2"),
            "pooling_param.global_pooling takes the whole image as window: no kernel_size");
  EXPECT_EQ(error("global_pooling: true stride: 2"),
            "pooling_param.global_pooling takes pad 0 and stride 1 only, not pad 0x0 and stride "
            "2x2");
  EXPECT_EQ(error("kernel_size: 8 pad: 1"),
            "the kernel 8 is larger than the padded input: height 5, pad 1 on both sides");
  EXPECT_EQ(
      error("kernel_size: 1 stride: 3"),
      "the last window lies outside of the image: it starts at 6 of height 5 (stride 3 is larger "
      "than the kernel 1); use round_mode: FLOOR");
  EXPECT_EQ(infer_error(layer("pool: AVE kernel_size: 2", R"(top: "a" top: "b")"), image),
            "a second top (the index of the maximum) is for MAX pooling only");
  EXPECT_EQ(infer_error(layer("kernel_size: 2"), {{2, 3, 4}}),
            "the bottom must have 4 axes (N x C x H x W), not 3 (2x3x4); for another number give "
            "kernel_size_3d in place of kernel_size");
}

}  // namespace
}  // namespace crema::test
