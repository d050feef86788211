#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "transform_harness.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::error_of;
using testing::make;
using testing::run;
using testing::TemporaryFolder;
using testing::write_mean;

TEST(Transform, WithoutParametersConvertsOnly) {
  EXPECT_THAT(run(make({}), byte_datum(1, 2, 3, 252, 0)),
              ::testing::ElementsAre(252, 253, 254, 255, 0, 1));
  caffe::Datum floats = byte_datum(1, 1, 2, 0, 0);
  floats.clear_data();
  floats.add_float_data(-1.25f);
  floats.add_float_data(1e9f);
  EXPECT_THAT(run(make({}), floats), ::testing::ElementsAre(-1.25f, 1e9f));
}

TEST(Transform, MeanValuesThenScale) {
  caffe::TransformationParameter param;
  param.set_scale(0.5f);
  param.add_mean_value(10);
  EXPECT_THAT(run(make(param), byte_datum(2, 1, 2, 0, 0)),
              ::testing::ElementsAre(-5, -4.5, -4, -3.5));
  param.add_mean_value(20);
  EXPECT_THAT(run(make(param), byte_datum(2, 1, 2, 0, 0)),
              ::testing::ElementsAre(-5, -4.5, -9, -8.5));
}

TEST(Transform, CentreCropRoundsDown) {
  caffe::TransformationParameter param;
  param.set_crop_size(2);
  const Transformer transformer = make(param);
  EXPECT_EQ(transformer.output_shape({3, 5, 4}), (Shape{3, 2, 2}));
  // Rows 1 and 2 (of 5), columns 1 and 2 (of 4).
  EXPECT_THAT(run(transformer, byte_datum(1, 5, 4, 0, 0)), ::testing::ElementsAre(5, 6, 9, 10));
}

TEST(Transform, MeanFileIsCroppedWithTheImageAndMirroredWithIt) {
  const TemporaryFolder folder;
  write_mean(folder / "mean.binaryproto", {1, 1, 3, 3});
  caffe::TransformationParameter param;
  param.set_mean_file(folder / "mean.binaryproto");
  param.set_crop_size(2);
  param.set_mirror(true);
  const Transformer transformer = make(param);
  const caffe::Datum datum = byte_datum(1, 3, 3, 0, 0);  // value i, mean i / 2
  std::set<std::vector<float>> seen;
  for (std::uint64_t i = 0; i < 50; ++i) seen.insert(run(transformer, datum, i));
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(std::vector<float>{0, 0.5f, 1.5f, 2},
                                                    std::vector<float>{0.5f, 0, 2, 1.5f}));
}

TEST(Transform, RandomnessIsEvenAndDependsOnSeedNameAndOrdinalOnly) {
  caffe::TransformationParameter param;
  param.set_crop_size(4);
  param.set_mirror(true);
  const Transformer first = make(param, caffe::TRAIN), same = make(param, caffe::TRAIN);
  const Transformer seeded = make(param, caffe::TRAIN, 2);
  const Transformer named(param, caffe::TRAIN, 1, "other");
  // Value 4 * y + x: the first one tells where the part was taken from and whether it is mirrored.
  const caffe::Datum datum = byte_datum(1, 6, 4, 0, 0);
  const auto place = [&](const Transformer& transformer, std::uint64_t ordinal) {
    const int corner = static_cast<int>(run(transformer, datum, ordinal)[0]);
    return std::pair(corner / 4, corner % 4 != 0);
  };
  int tops[3] = {}, mirrored = 0, other_seed = 0, other_name = 0;
  constexpr int kDraws = 3000;
  for (int i = 0; i < kDraws; ++i) {
    const auto ordinal = static_cast<std::uint64_t>(i);
    const auto [top, mirror] = place(first, ordinal);
    EXPECT_EQ(run(first, datum, ordinal), run(same, datum, ordinal));
    ASSERT_LE(top, 2);
    ++tops[top];
    mirrored += mirror;
    other_seed += top == place(seeded, ordinal).first;
    other_name += top == place(named, ordinal).first;
  }
  for (const int count : tops) EXPECT_NEAR(count, kDraws / 3, 130);  // 5 standard deviations
  EXPECT_NEAR(mirrored, kDraws / 2, 140);
  EXPECT_NEAR(other_seed, kDraws / 3, 130);
  EXPECT_NEAR(other_name, kDraws / 3, 130);
}

// Every width, so that vector loops and their remainders are both run.
TEST(Transform, RowsOfEveryWidth) {
  for (int width = 1; width < 70; ++width) {
    caffe::TransformationParameter param;
    param.set_scale(0.25f);
    param.add_mean_value(3);
    const caffe::Datum datum = byte_datum(2, 3, width, 7, 0);
    const std::vector<float> plain = run(make(param), datum);
    param.set_mirror(true);
    const Transformer mirroring = make(param);
    std::vector<float> mirrored = plain;
    for (std::uint64_t i = 0; width > 1 && mirrored == plain; ++i) {
      mirrored = run(mirroring, datum, i);
    }
    for (int row = 0; row < 6; ++row) {
      for (int x = 0; x < width; ++x) {
        const int i = row * width + x;
        ASSERT_EQ(plain[static_cast<std::size_t>(i)], (static_cast<float>((7 + i) % 256) - 3) / 4);
        ASSERT_EQ(mirrored[static_cast<std::size_t>(row * width + width - 1 - x)],
                  plain[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(Transform, ContradictionsFail) {
  caffe::TransformationParameter param;
  param.set_mean_file("m");
  param.add_mean_value(1);
  EXPECT_EQ(error_of([&] { make(param); }),
            "transform_param has both mean_file and mean_value; only one can be subtracted");
  param.Clear();
  param.set_force_color(true);
  param.set_force_gray(true);
  EXPECT_EQ(error_of([&] { make(param); }), "transform_param has both force_color and force_gray");
}

TEST(Transform, MisfitsNameBothShapes) {
  const TemporaryFolder folder;
  const std::string mean = folder / "mean.binaryproto";
  const auto shape_error = [&](const caffe::TransformationParameter& param, const Shape& image) {
    return error_of([&] { make(param).output_shape(image); });
  };
  caffe::TransformationParameter param;
  param.set_crop_size(8);
  EXPECT_EQ(shape_error(param, {3, 7, 20}),
            "the image is 3x7x20, smaller than crop_size 8; resize_short_side, or resize_height "
            "and resize_width, would enlarge it");
  EXPECT_EQ(shape_error(param, {28, 28, 3}),
            "the image is 28x28x3, smaller than crop_size 8; 28x28x3 looks like height x width x "
            "channels, Caffe wants the channels first");
  param.Clear();
  for (int i = 0; i < 3; ++i) param.add_mean_value(1);
  EXPECT_EQ(
      shape_error(param, {1, 8, 8}),
      "the image is 1x8x8, with 1 channel, but there are 3 mean_value; give one, or one for each "
      "channel");
  param.Clear();
  param.set_mean_file(mean);
  param.set_crop_size(6);
  write_mean(mean, {1, 3, 6, 6});
  EXPECT_EQ(
      shape_error(param, {3, 8, 8}),
      "the image is 3x8x8, but the mean file " + mean +
          " is 3x6x6; a mean has the size of the whole image, it is cropped together with it");
  param.clear_crop_size();
  EXPECT_EQ(shape_error(param, {1, 6, 6}),
            "the image is 1x6x6, but the mean file " + mean + " is 3x6x6");
  write_mean(mean, {2, 3, 6, 6});
  EXPECT_EQ(shape_error(param, {3, 6, 6}),
            "transform_param.mean_file: mean file " + mean +
                ": a mean is one image of channels x height x width, this one is 2x3x6x6");
  param.set_mean_file(folder / "no");
  EXPECT_THAT(shape_error(param, {3, 6, 6}), ::testing::HasSubstr(folder / "no"));
}

}  // namespace
}  // namespace crema
