#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return "type: 'PriorBox' bottom: 'map' bottom: 'image' top: 'y' prior_box_param { " + fields +
         " }";
}

std::vector<float> boxes(const std::string& fields, const Shape& map = {2, 1, 1, 2},
                         const Shape& image = {2, 3, 10, 20}) {
  const Result result = run(*make(layer(fields)), {spread(map), spread(image)}, {}, {});
  const std::vector<float>& values = result.tops[0].values;
  EXPECT_EQ(result.tops[0].shape, Shape({1, 2, static_cast<std::int64_t>(values.size()) / 2}));
  return values;
}

void expect_boxes(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_GE(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
  }
}

TEST(PriorBox, ByHand) {
  // 4 x 4, 6 x 6, 8 x 2 and 2 x 8 pixels around (5, 5) and (15, 5) in an image of 20 x 10.
  const std::vector<float> values = boxes("min_size: 4 max_size: 9 aspect_ratio: 4");
  ASSERT_EQ(values.size(), 64U);
  expect_boxes(values, {0.15F, 0.3F, 0.35F, 0.7F, 0.1F, 0.2F, 0.4F, 0.8F,
                        0.05F, 0.4F, 0.45F, 0.6F, 0.2F, 0.1F, 0.3F, 0.9F,  //
                        0.65F, 0.3F, 0.85F, 0.7F, 0.6F, 0.2F, 0.9F, 0.8F,
                        0.55F, 0.4F, 0.95F, 0.6F, 0.7F, 0.1F, 0.8F, 0.9F});
  for (std::size_t i = 32; i < 64; ++i) EXPECT_EQ(values[i], 0.1F);
}

TEST(PriorBox, AspectRatios) {
  EXPECT_EQ(boxes("min_size: 4").size(), 2U * 2 * 4);
  // 1 and what is there already add nothing; with flip 0.5 is there from 2 on.
  EXPECT_EQ(boxes("min_size: 4 aspect_ratio: 1 aspect_ratio: 2 aspect_ratio: 0.5").size(),
            2U * 2 * 4 * 3);
  EXPECT_EQ(boxes("min_size: 4 aspect_ratio: 2 aspect_ratio: 2 flip: false").size(),
            2U * 2 * 4 * 2);
  EXPECT_EQ(boxes("min_size: 4 min_size: 5 aspect_ratio: 2 aspect_ratio: 3").size(),
            2U * 2 * 4 * 10);
}

TEST(PriorBox, SizesOfImageAndSteps) {
  const Shape map = {1, 1, 1, 1};
  expect_boxes(boxes("min_size: 4 img_size: 8", map), {0.25F, 0.25F, 0.75F, 0.75F});
  expect_boxes(boxes("min_size: 4 img_h: 8 img_w: 16", map), {0.375F, 0.25F, 0.625F, 0.75F});
  expect_boxes(boxes("min_size: 4 step: 8", map), {0.1F, 0.2F, 0.3F, 0.6F});
  expect_boxes(boxes("min_size: 4 step_h: 8 step_w: 16", map), {0.3F, 0.2F, 0.5F, 0.6F});
  expect_boxes(boxes("min_size: 4 offset: 0", map), {-0.1F, -0.2F, 0.1F, 0.2F});
  expect_boxes(boxes("min_size: 4 offset: 0 clip: true", map), {0, 0, 0.1F, 0.2F});
  EXPECT_TRUE(boxes("min_size: 4", {1, 1, 0, 2}).empty());
}

TEST(PriorBox, Variances) {
  const Shape map = {1, 1, 1, 1};
  const auto second = [](const std::vector<float>& values) {
    return std::vector<float>(values.begin() + 4, values.end());
  };
  EXPECT_EQ(second(boxes("min_size: 4 variance: 0.5", map)),
            (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F}));
  EXPECT_EQ(
      second(boxes("min_size: 4 variance: 1 variance: 2 variance: 3 variance: 4 clip: true", map)),
      (std::vector<float>{1, 2, 3, 4}));
}

TEST(PriorBox, Errors) {
  const auto error = [](const std::string& fields) {
    return infer_error(layer(fields), {{1, 1, 2, 2}, {1, 3, 8, 8}});
  };
  EXPECT_EQ(error(""), "prior_box_param.min_size is missing: give the side of at least one box");
  EXPECT_EQ(error("min_size: 0"), "prior_box_param.min_size 0 must be greater than 0");
  EXPECT_EQ(error("min_size: 2 max_size: 2"),
            "prior_box_param.max_size 2 must be greater than its min_size 2");
  EXPECT_EQ(error("min_size: 2 min_size: 3 max_size: 5"),
            "prior_box_param.max_size is given 1 times for 2 of min_size; give none, or one for "
            "each");
  EXPECT_EQ(error("min_size: 2 aspect_ratio: 0"),
            "prior_box_param.aspect_ratio 0 must be greater than 0");
  EXPECT_EQ(error("min_size: 2 variance: 1 variance: 1"),
            "prior_box_param.variance is given 2 times; give one for all coordinates, or four");
  EXPECT_EQ(error("min_size: 2 variance: 0"), "prior_box_param.variance 0 must be greater than 0");
  EXPECT_EQ(error("min_size: 2 step: 0"), "prior_box_param.step 0 must be greater than 0");
  EXPECT_EQ(error("min_size: 2 step_h: 2"),
            "prior_box_param.step_h and step_w go together; only one is given");
  EXPECT_EQ(error("min_size: 2 img_size: 8 img_h: 8 img_w: 8"),
            "prior_box_param.img_size is given together with img_h or img_w; give one or the "
            "other");
  EXPECT_EQ(infer_error(layer("min_size: 2"), {{1, 4}, {1, 3, 8, 8}}),
            "bottom 0 must be N x C x H x W, but is 1x4");
}

}  // namespace
}  // namespace crema::test
