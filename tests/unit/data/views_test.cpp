// Views of a picture: which parts, in which order, with which pixels.
#include "data/views.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "transform_harness.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::make;
using testing::noise;
using testing::run;
using testing::TemporaryFolder;

caffe::TransformationParameter crop(int size) {
  caffe::TransformationParameter param;
  param.set_crop_size(static_cast<unsigned>(size));
  return param;
}

Transformer viewing(const caffe::TransformationParameter& param, const std::string& views,
                    const std::string& scales = "", caffe::Phase phase = caffe::TEST) {
  Transformer transformer = make(param, phase);
  transformer.set_views(parse_views(views, scales));
  return transformer;
}

/// Top, left, mirrored.
std::vector<std::vector<std::int64_t>> places(const std::vector<View>& views) {
  std::vector<std::vector<std::int64_t>> list;
  list.reserve(views.size());
  for (const View& view : views) list.push_back({view.top, view.left, view.mirror ? 1 : 0});
  return list;
}

using Place = std::vector<std::int64_t>;

/// A part of a picture in floats.
std::vector<float> part(const Image& image, std::int64_t top, std::int64_t left,
                        std::int64_t height, std::int64_t width, bool mirror) {
  std::vector<float> out;
  for (std::int64_t c = 0; c < image.channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t column = left + (mirror ? width - 1 - x : x);
        out.push_back(image.bytes[static_cast<std::size_t>(
            (c * image.height + top + y) * image.width + column)]);
      }
    }
  }
  return out;
}

TEST(Views, Words) {
  EXPECT_EQ(parse_views("1", "").count(), 1);
  EXPECT_EQ(parse_views("5", "").count(), 5);
  EXPECT_EQ(parse_views("10", "").count(), 10);
  EXPECT_EQ(parse_views("3x4", "").count(), 12);
  EXPECT_EQ(parse_views("10", "256,288,320").count(), 30);
  EXPECT_THAT(parse_views("1", "256,288,320").scales, ElementsAre(256, 288, 320));
  for (const char* text : {"", "0", "7", "x", "3x", "x3", "0x3", "3x0", "3x3x3", "-1x2", "101x1"}) {
    EXPECT_EQ(error_of([&] { parse_views(text, ""); }),
              std::string("the views are 1 (the middle), 5 (corners and middle), 10 (those and "
                          "mirrored) or ROWSxCOLUMNS (a grid such as 3x3, of at most 100 each), "
                          "not \"") +
                  text + "\"");
  }
  for (const char* text : {"0", "a", "256;288", "256,-1", "16385"}) {
    EXPECT_EQ(error_of([&] { parse_views("1", text); }),
              std::string("the scales are lengths of the shorter side such as 256,288,320 (1 to "
                          "16384), not \"") +
                  text + "\"");
  }
}

TEST(Views, TenOfEightByEight) {
  const Transformer transformer = viewing(crop(6), "10");
  EXPECT_EQ(transformer.views(), 10);
  const std::vector<View> views = transformer.view_list({3, 8, 8});
  EXPECT_THAT(
      places(views),
      ElementsAre(Place{0, 0, 0}, Place{0, 2, 0}, Place{2, 0, 0}, Place{2, 2, 0}, Place{1, 1, 0},
                  Place{0, 0, 1}, Place{0, 2, 1}, Place{2, 0, 1}, Place{2, 2, 1}, Place{1, 1, 1}));
  EXPECT_EQ(views[1].str(), "6x6 at row 0, column 2 of 8x8");
  EXPECT_EQ(views[6].str(), "6x6 at row 0, column 2 of 8x8, mirrored");
  for (const std::int64_t channels : {1, 3}) {
    const Image image = noise(channels, 8, 8, 4);
    std::vector<float> expected;
    for (const View& view : views) {
      const std::vector<float> one = part(image, view.top, view.left, 6, 6, view.mirror);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_EQ(run(transformer, image.view()), expected);
  }
}

TEST(Views, GridsReachFromBorderToBorder) {
  const Transformer transformer = viewing(crop(4), "3x2");
  EXPECT_THAT(places(transformer.view_list({1, 9, 7})),
              ElementsAre(Place{0, 0, 0}, Place{0, 3, 0}, Place{2, 0, 0}, Place{2, 3, 0},
                          Place{5, 0, 0}, Place{5, 3, 0}));
  EXPECT_THAT(places(viewing(crop(4), "1x1").view_list({1, 9, 7})), ElementsAre(Place{2, 1, 0}));
  EXPECT_THAT(places(viewing(crop(4), "2x1").view_list({1, 4, 7})),
              ElementsAre(Place{0, 1, 0}, Place{0, 1, 0}));
}

TEST(Views, OfPicturesThatAreNotSquareAndCropsThatAreNot) {
  caffe::TransformationParameter param;
  param.set_crop_height(2);
  param.set_crop_width(5);
  const Transformer transformer = viewing(param, "5");
  EXPECT_EQ(transformer.output_shape({3, 4, 10}), (Shape{3, 2, 5}));
  const std::vector<View> views = transformer.view_list({3, 4, 10});
  EXPECT_THAT(places(views), ElementsAre(Place{0, 0, 0}, Place{0, 5, 0}, Place{2, 0, 0},
                                         Place{2, 5, 0}, Place{1, 2, 0}));
  const Image image = noise(3, 4, 10, 8);
  const std::vector<float> out = run(transformer, image.view());
  EXPECT_TRUE(std::ranges::equal(part(image, 1, 2, 2, 5, false),
                                 std::vector<float>(out.end() - 30, out.end())));
}

TEST(Views, NothingIsRandomAndBothPhasesAgree) {
  caffe::TransformationParameter param = crop(6);
  param.set_mirror(true);
  param.set_scale(0.5F);
  param.add_mean_value(10);
  const Image image = noise(3, 9, 11, 5);
  const std::vector<float> expected = run(viewing(param, "5"), image.view());
  param.set_rotation(30);
  param.set_brightness(0.5F);
  param.set_cutout_size(3);
  const Transformer training = viewing(param, "5", "", caffe::TRAIN);
  for (std::uint64_t ordinal = 0; ordinal < 5; ++ordinal) {
    EXPECT_EQ(run(training, image.view(), ordinal), expected);
  }
  EXPECT_EQ(expected[0], (static_cast<float>(image.bytes[0]) - 10) * 0.5F);
  // One view: that of the TEST phase without its mirror.
  const Transformer one = viewing(param, "1", "", caffe::TRAIN);
  EXPECT_THAT(places(one.view_list(image.shape())), ElementsAre(Place{1, 2, 0}));
}

TEST(Views, ScalesAreLengthsOfTheShorterSide) {
  const Transformer transformer = viewing(crop(6), "10", "8,12");
  EXPECT_EQ(transformer.views(), 20);
  EXPECT_TRUE(transformer.fixes_size());
  const Image image = noise(3, 10, 25, 6);
  EXPECT_EQ(transformer.output_shape(image.shape()), (Shape{3, 6, 6}));
  const std::vector<View> views = transformer.view_list(image.shape());
  ASSERT_EQ(views.size(), 20U);
  EXPECT_EQ(views[0].frame, (PictureSize{8, 20}));
  EXPECT_EQ(views[10].frame, (PictureSize{12, 30}));
  EXPECT_EQ(views[13].str(), "6x6 at row 6, column 24 of 12x30");
  std::vector<float> expected;
  for (const View& view : views) {
    Image resized;
    resize_image(image, view.frame.height, view.frame.width, &resized);
    const std::vector<float> one = part(resized, view.top, view.left, 6, 6, view.mirror);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(run(transformer, image.view()), expected);
}

TEST(Views, WithoutCropTheWholePicture) {
  Views views;
  views.mirror = true;
  Transformer transformer = make({});
  transformer.set_views(views);
  EXPECT_EQ(transformer.views(), 2);
  EXPECT_FALSE(transformer.fixes_size());
  const Image image = noise(1, 2, 3, 7);
  std::vector<float> expected = part(image, 0, 0, 2, 3, false);
  const std::vector<float> mirrored = part(image, 0, 0, 2, 3, true);
  expected.insert(expected.end(), mirrored.begin(), mirrored.end());
  EXPECT_EQ(run(transformer, image.view()), expected);
  EXPECT_EQ(viewing({}, "1", "4").output_shape({1, 2, 3}), (Shape{1, 4, 6}));
}

// A mean has the size of the picture before the views' scales, and is resized with it.
TEST(Views, MeanImagesAreResizedAlong) {
  const TemporaryFolder folder;
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(1);
  mean.set_height(4);
  mean.set_width(4);
  Image image{1, 4, 4, {}};
  for (int i = 0; i < 16; ++i) {
    image.bytes.push_back(static_cast<std::uint8_t>(10 + 8 * i));
    mean.add_data(static_cast<float>(8 * i));
  }
  testing::write_file(folder / "mean", mean.SerializeAsString());
  caffe::TransformationParameter param = crop(4);
  param.set_mean_file(folder / "mean");
  const Transformer transformer = viewing(param, "5", "4,8");
  const std::vector<float> out = run(transformer, image.view());
  ASSERT_EQ(out.size(), 160U);
  for (std::size_t i = 0; i < 80; ++i) EXPECT_EQ(out[i], 10);
  for (std::size_t i = 80; i < 160; ++i) EXPECT_NEAR(out[i], 10, 0.51) << i;  // rounded to bytes
  EXPECT_THAT(error_of([&] {
                transformer.output_shape({1, 8, 8});
              }),
              ::testing::StartsWith("the image is 1x8x8, but the mean file"));
}

TEST(Views, WhatCannotBe) {
  EXPECT_EQ(error_of([] { viewing({}, "5"); }),
            "several parts of a picture need transform_param.crop_size, or crop_height and "
            "crop_width");
  EXPECT_EQ(error_of([] { viewing({}, "1", "4,5"); }),
            "several scales of a picture need transform_param.crop_size, or crop_height and "
            "crop_width");
  EXPECT_EQ(error_of([] {
              viewing(crop(6), "10").output_shape({3, 5, 8});
            }),
            "the image is 3x5x8, smaller than crop_size 6; resize_short_side, or resize_height and "
            "resize_width, would enlarge it");
  EXPECT_EQ(error_of([] {
              viewing(crop(6), "10", "8,5").output_shape({3, 9, 9});
            }),
            "the image is 3x9x9, resized to 3x5x5, smaller than crop_size 6");
  EXPECT_EQ(
      error_of([] {
        viewing(crop(6), "1", "16384").output_shape({1, 2, 20000});
      }),
      "the image is 1x2x20000, resized to 1x16384x163840000: at most 268435456 pixels can be");
}

}  // namespace
}  // namespace crema
