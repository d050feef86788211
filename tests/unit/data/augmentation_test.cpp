// Resizing and augmentation by transform_param, against their definitions in double precision.
#include "data/augmentation.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "transform_harness.h"

namespace crema {
namespace {

using testing::error_of;
using testing::make;
using testing::noise;
using testing::run;
using testing::TemporaryFolder;

const RandomStream kRandom(1, stream_id("data"));  // of make()

caffe::TransformationParameter parse(const std::string& text) {
  caffe::TransformationParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

/// A picture in double precision.
struct Planes {
  std::int64_t channels, height, width;
  std::vector<double> values;

  double at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return values[static_cast<std::size_t>((c * height + y) * width + x)];
  }
  double& at(std::int64_t c, std::int64_t y, std::int64_t x) {
    return values[static_cast<std::size_t>((c * height + y) * width + x)];
  }
  double sample(std::int64_t c, double row, double column) const {
    row = std::clamp(row, 0.0, static_cast<double>(height - 1));
    column = std::clamp(column, 0.0, static_cast<double>(width - 1));
    const auto y = static_cast<std::int64_t>(row), x = static_cast<std::int64_t>(column);
    const std::int64_t below = std::min(y + 1, height - 1), next = std::min(x + 1, width - 1);
    const double down = row - static_cast<double>(y), right = column - static_cast<double>(x);
    return (1 - down) * ((1 - right) * at(c, y, x) + right * at(c, y, next)) +
           down * ((1 - right) * at(c, below, x) + right * at(c, below, next));
  }
};

Planes planes_of(const Image& image) {
  return {image.channels, image.height, image.width, {image.bytes.begin(), image.bytes.end()}};
}

double uniform(std::uint64_t ordinal, std::uint64_t lane) { return kRandom.uniform(ordinal, lane); }

double symmetric(std::uint64_t ordinal, std::uint64_t lane, double most) {
  return (2 * uniform(ordinal, lane) - 1) * most;
}

/// What docs/transformation.md says of turning: for each pixel the place p with turn(stretch(p)) =
/// q about the middle of the part at (top, left) of a frame that `source` is resized to.
Planes turned(const Planes& source, const caffe::TransformationParameter& param,
              std::uint64_t ordinal, PictureSize frame, std::int64_t top, std::int64_t left,
              PictureSize part) {
  const double angle = symmetric(ordinal, 3, param.rotation()) * std::numbers::pi / 180;
  const double low = param.min_scale(), high = param.max_scale();
  const double scale = std::exp(std::log(low) + uniform(ordinal, 4) * (std::log(high / low)));
  const double aspect =
      std::exp(symmetric(ordinal, 5, 1) * std::log(static_cast<double>(param.max_aspect_ratio())));
  const double wide = scale * std::sqrt(aspect), tall = scale / std::sqrt(aspect);
  // (x, y) -> (xx x + xy y, yx x + yy y)
  const double xx = std::cos(angle) * wide, xy = -std::sin(angle) * tall;
  const double yx = std::sin(angle) * wide, yy = std::cos(angle) * tall;
  const double determinant = xx * yy - xy * yx;
  Planes out{source.channels, part.height, part.width, {}};
  out.values.resize(static_cast<std::size_t>(source.channels * part.count()));
  for (std::int64_t c = 0; c < source.channels; ++c) {
    for (std::int64_t y = 0; y < part.height; ++y) {
      for (std::int64_t x = 0; x < part.width; ++x) {
        const double qx = static_cast<double>(x) + 0.5 - 0.5 * static_cast<double>(part.width);
        const double qy = static_cast<double>(y) + 0.5 - 0.5 * static_cast<double>(part.height);
        const double px = (yy * qx - xy * qy) / determinant;
        const double py = (xx * qy - yx * qx) / determinant;
        const double column =
            static_cast<double>(left) + 0.5 * static_cast<double>(part.width) + px;
        const double row = static_cast<double>(top) + 0.5 * static_cast<double>(part.height) + py;
        out.at(c, y, x) = source.sample(
            c, row * static_cast<double>(source.height) / static_cast<double>(frame.height) - 0.5,
            column * static_cast<double>(source.width) / static_cast<double>(frame.width) - 0.5);
      }
    }
  }
  return out;
}

double grey(const Planes& planes, std::int64_t y, std::int64_t x) {
  if (planes.channels == 3) {
    return 0.114 * planes.at(0, y, x) + 0.587 * planes.at(1, y, x) + 0.299 * planes.at(2, y, x);
  }
  double sum = 0;
  for (std::int64_t c = 0; c < planes.channels; ++c) sum += planes.at(c, y, x);
  return sum / static_cast<double>(planes.channels);
}

/// One change after the other.
Planes recolored(Planes planes, const caffe::TransformationParameter& param, std::uint64_t ordinal,
                 bool bytes) {
  const auto each = [&](const auto& change) {
    for (std::int64_t y = 0; y < planes.height; ++y) {
      for (std::int64_t x = 0; x < planes.width; ++x) change(y, x);
    }
  };
  const auto all = [&](const auto& value) {
    each([&](std::int64_t y, std::int64_t x) {
      const double g = grey(planes, y, x);
      for (std::int64_t c = 0; c < planes.channels; ++c) {
        planes.at(c, y, x) = value(planes.at(c, y, x), g);
      }
    });
  };
  const double brightness = 1 + symmetric(ordinal, 6, param.brightness());
  all([&](double v, double) { return brightness * v; });
  const double contrast = 1 + symmetric(ordinal, 7, param.contrast());
  double mean = 0;
  each([&](std::int64_t y, std::int64_t x) { mean += grey(planes, y, x); });
  mean /= static_cast<double>(planes.height * planes.width);
  all([&](double v, double) { return contrast * v + (1 - contrast) * mean; });
  const double saturation = 1 + symmetric(ordinal, 8, param.saturation());
  all([&](double v, double g) { return saturation * v + (1 - saturation) * g; });
  if (param.hue() > 0) {
    // About the axis of greys (Rodrigues), from red to green.
    const double angle = symmetric(ordinal, 9, param.hue()) * 2 * std::numbers::pi;
    each([&](std::int64_t y, std::int64_t x) {
      const double r = planes.at(2, y, x), g = planes.at(1, y, x), b = planes.at(0, y, x);
      const double along = (r + g + b) / 3, root = std::sqrt(3.0);
      const auto turn = [&](double own, double cross) {
        return own * std::cos(angle) + cross * std::sin(angle) + along * (1 - std::cos(angle));
      };
      planes.at(2, y, x) = turn(r, (b - g) / root);
      planes.at(1, y, x) = turn(g, (r - b) / root);
      planes.at(0, y, x) = turn(b, (g - r) / root);
    });
  }
  if (bytes) all([](double v, double) { return std::clamp(v, 0.0, 255.0); });
  return planes;
}

void expect_near(const std::vector<float>& values, const Planes& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected.values[i], tolerance) << i;
  }
}

/// The same in floats, which are not held to 0 … 255.
struct FloatImage {
  explicit FloatImage(const Image& image)
      : values(image.bytes.begin(), image.bytes.end()),
        view{image.channels, image.height, image.width, nullptr, values.data()} {}
  std::vector<float> values;
  ImageView view;
};

// --- Sizes.

TEST(Resizing, ToAHeightAndWidth) {
  const auto param = parse("resize_height: 9 resize_width: 6 crop_size: 4");
  const Image image = noise(3, 5, 14, 1);
  Image resized;
  resize_image(image, 9, 6, &resized);
  for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
    const Transformer transformer = make(param, phase);
    EXPECT_TRUE(transformer.fixes_size());
    EXPECT_EQ(transformer.output_shape(image.shape()), (Shape{3, 4, 4}));
    const Transformer cropping = make(parse("crop_size: 4"), phase);
    EXPECT_EQ(run(transformer, image.view(), 3), run(cropping, resized.view(), 3));
  }
}

TEST(Resizing, OfFloats) {
  const Image image = noise(3, 5, 14, 1);
  const Transformer transformer = make(parse("resize_height: 9 resize_width: 6 crop_size: 4"));
  expect_near(run(transformer, FloatImage(image).view),
              turned(planes_of(image), {}, 0, {9, 6}, 2, 1, {4, 4}), 1e-3);
}

TEST(Resizing, ToTheLengthOfTheShorterSide) {
  const Transformer transformer = make(parse("resize_short_side: 7"));
  EXPECT_FALSE(transformer.fixes_size());
  EXPECT_EQ(transformer.output_shape({3, 10, 20}), (Shape{3, 7, 14}));
  EXPECT_EQ(transformer.output_shape({3, 20, 10}), (Shape{3, 14, 7}));
  EXPECT_EQ(transformer.output_shape({1, 7, 9}), (Shape{1, 7, 9}));
  EXPECT_EQ(transformer.output_shape({1, 4, 5}), (Shape{1, 7, 9}));  // 8.75
  EXPECT_EQ(transformer.output_shape({1, 1, 1}), (Shape{1, 7, 7}));
  const Image image = noise(1, 4, 5, 2);
  Image resized;
  resize_image(image, 7, 9, &resized);
  EXPECT_EQ(run(transformer, image.view()), run(make({}), resized.view()));
}

TEST(Resizing, TheMeanHasTheNewSize) {
  const TemporaryFolder folder;
  testing::write_mean(folder / "mean", {1, 1, 6, 8});
  auto param = parse("resize_height: 6 resize_width: 8");
  param.set_mean_file(folder / "mean");
  const Image flat{1, 2, 2, {50, 50, 50, 50}};
  const std::vector<float> out = run(make(param), flat.view());
  for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(out[i], 50 - 0.5F * static_cast<float>(i));
  param.set_resize_width(9);
  EXPECT_EQ(
      error_of([&] {
        make(param).output_shape({1, 2, 2});
      }),
      "the image is 1x2x2, resized to 1x6x9, but the mean file " + (folder / "mean") + " is 1x6x8");
}

TEST(RectangularCrop, InBothPhases) {
  const auto param = parse("crop_height: 2 crop_width: 3");
  const Image image{1, 4, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_THAT(run(make(param), image.view()), ::testing::ElementsAre(4, 5, 6, 8, 9, 10));
  EXPECT_TRUE(make(param).fixes_size());
  EXPECT_TRUE(make(parse("crop_size: 2 resize_short_side: 5")).fixes_size());
  EXPECT_FALSE(make(parse("rotation: 5"), caffe::TRAIN).fixes_size());
  std::set<float> corners;
  const Transformer training = make(param, caffe::TRAIN);
  EXPECT_EQ(training.output_shape(image.shape()), (Shape{1, 2, 3}));
  for (std::uint64_t i = 0; i < 100; ++i) corners.insert(run(training, image.view(), i)[0]);
  EXPECT_THAT(corners, ::testing::ElementsAre(0, 1, 4, 5, 8, 9));
}

// --- Turning, scale, proportions.

TEST(Augmentation, TurnsStretchesAndEnlargesInOneStep) {
  const char* const cases[] = {
      "rotation: 30 crop_size: 9",
      "rotation: 180 min_scale: 0.5 max_scale: 2 max_aspect_ratio: 1.5 crop_size: 11",
      "max_scale: 1.5 crop_height: 5 crop_width: 12",
      "max_aspect_ratio: 2",
      "rotation: 20 min_scale: 0.7 resize_short_side: 20 crop_size: 15",
      "rotation: 20 resize_height: 9 resize_width: 30"};
  for (const char* text : cases) {
    const auto param = parse(text);
    const Transformer transformer = make(param, caffe::TRAIN);
    for (const std::int64_t channels : {1, 3}) {
      const Image image = noise(channels, 14, 17, 3);
      const PictureSize own{14, 17};
      const PictureSize frame = param.resize_short_side() ? with_short_side(own, 20)
                                : param.resize_height()   ? PictureSize{9, 30}
                                                          : own;
      const Shape shape = transformer.output_shape(image.shape());
      const PictureSize part{shape[1], shape[2]};
      for (std::uint64_t ordinal = 0; ordinal < 6; ++ordinal) {
        SCOPED_TRACE(fmt::format("{}, {} channels, record {}", text, channels, ordinal));
        const auto top =
            kRandom.below(ordinal, 1, static_cast<unsigned>(frame.height - part.height + 1));
        const auto left =
            kRandom.below(ordinal, 2, static_cast<unsigned>(frame.width - part.width + 1));
        const Planes expected = turned(planes_of(image), param, ordinal, frame, top, left, part);
        expect_near(run(transformer, image.view(), ordinal), expected, 1e-3);
        expect_near(run(transformer, FloatImage(image).view, ordinal), expected, 1e-3);
      }
    }
  }
}

TEST(Augmentation, MeanImagesAreTurnedAlongAndAllIsMirrored) {
  const TemporaryFolder folder;
  testing::write_mean(folder / "mean", {1, 3, 10, 12});
  for (const char* text : {"rotation: 40 max_scale: 2 crop_size: 7 mirror: true scale: 0.5",
                           "contrast: 0.5 hue: 0.5 crop_size: 7 mirror: true scale: 0.5",
                           "rotation: 9 resize_height: 10 resize_width: 12 crop_size: 7 mirror: "
                           "true scale: 0.5 brightness: 0.2"}) {
    auto param = parse(text);
    param.set_mean_file(folder / "mean");
    const Transformer transformer = make(param, caffe::TRAIN);
    const Image image = param.resize_height() ? noise(3, 20, 19, 4) : noise(3, 10, 12, 4);
    Planes mean{3, 10, 12, {}};
    for (int i = 0; i < 360; ++i) mean.values.push_back(0.5 * i);
    int mirrored = 0;
    for (std::uint64_t ordinal = 0; ordinal < 8; ++ordinal) {
      const auto top = kRandom.below(ordinal, 1, 4), left = kRandom.below(ordinal, 2, 6);
      const bool mirror = kRandom.below(ordinal, 0, 2) == 1;
      mirrored += mirror ? 1 : 0;
      const PictureSize frame{10, 12}, part{7, 7};
      const Planes picture = recolored(
          turned(planes_of(image), param, ordinal, frame, top, left, part), param, ordinal, true);
      const Planes means = turned(mean, param, ordinal, frame, top, left, part);
      Planes expected = picture;
      for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t y = 0; y < 7; ++y) {
          for (std::int64_t x = 0; x < 7; ++x) {
            const std::int64_t from = mirror ? 6 - x : x;
            expected.at(c, y, x) = (picture.at(c, y, from) - means.at(c, y, from)) * 0.5;
          }
        }
      }
      SCOPED_TRACE(fmt::format("{}, record {}", text, ordinal));
      expect_near(run(transformer, image.view(), ordinal), expected, 2e-3);
    }
    EXPECT_GT(mirrored, 0);
    EXPECT_LT(mirrored, 8);
  }
}

TEST(Augmentation, FactorsAreEvenInTheirLogarithm) {
  const Augmentation augmentation(parse("min_scale: 0.5 max_scale: 2"));
  const View view{{10, 10}, 0, 0, {10, 10}, false};
  int below = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double step = augmentation.map(kRandom, i, view, {10, 10}).row_y;
    EXPECT_GE(step, 0.499);
    EXPECT_LE(step, 2.001);
    below += step < 1 ? 1 : 0;
  }
  EXPECT_NEAR(below, 1000, 112);  // 5 standard deviations
}

// --- Colours.

TEST(Augmentation, ColoursChangeOneAfterTheOther) {
  for (const char* text :
       {"brightness: 0.5", "contrast: 1", "saturation: 1", "hue: 0.5", "hue: 0.02",
        "brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1", "brightness: 1 contrast: 0.9"}) {
    const auto param = parse(text);
    const Transformer transformer = make(param, caffe::TRAIN);
    const bool colors = param.saturation() > 0 || param.hue() > 0;
    for (const std::int64_t channels :
         colors ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{1, 2, 3, 4}) {
      const Image image = noise(channels, 6, 7, 5);
      for (std::uint64_t ordinal = 0; ordinal < 8; ++ordinal) {
        SCOPED_TRACE(fmt::format("{}, {} channels, record {}", text, channels, ordinal));
        expect_near(run(transformer, image.view(), ordinal),
                    recolored(planes_of(image), param, ordinal, true), 1e-3);
        expect_near(run(transformer, FloatImage(image).view, ordinal),
                    recolored(planes_of(image), param, ordinal, false), 1e-3);
      }
    }
  }
}

TEST(Augmentation, AThirdOfTheCircleMakesGreenOfRed) {
  const Transformer transformer = make(parse("hue: 0.5"), caffe::TRAIN);
  const Image red{3, 1, 2, {0, 90, 0, 90, 200, 90}};  // and a grey pixel
  std::uint64_t ordinal = 0;
  while (std::abs(symmetric(ordinal, 9, 0.5) - 1.0 / 3) > 1e-4) ++ordinal;
  const std::vector<float> out = run(transformer, red.view(), ordinal);
  const float green[] = {0, 90, 200, 90, 0, 90};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out[i], green[i], 0.2) << i;
}

// --- Cut-out.

TEST(Augmentation, SquaresAreCutOut) {
  const auto param = parse("cutout_size: 3 cutout_count: 2 mean_value: 5 scale: 2 crop_size: 8");
  const Transformer transformer = make(param, caffe::TRAIN);
  const Transformer plain = make(parse("mean_value: 5 scale: 2 crop_size: 8"), caffe::TRAIN);
  Image image = noise(2, 9, 10, 6);
  for (std::uint8_t& byte : image.bytes) byte |= 8;  // no 5, so that nothing else is 0
  std::set<int> holes;
  for (std::uint64_t ordinal = 0; ordinal < 200; ++ordinal) {
    const std::vector<float> out = run(transformer, image.view(), ordinal);
    std::vector<float> expected = run(plain, image.view(), ordinal);
    for (const std::uint64_t lane : {16, 18}) {
      const auto middle_y = static_cast<int>(kRandom.below(ordinal, lane, 8));
      const auto middle_x = static_cast<int>(kRandom.below(ordinal, lane + 1, 8));
      for (int i = 0; i < 128; ++i) {
        const int y = i / 8 % 8, x = i % 8;
        if (std::abs(y - middle_y) <= 1 && std::abs(x - middle_x) <= 1) {
          expected[static_cast<std::size_t>(i)] = 0;
        }
      }
    }
    ASSERT_EQ(out, expected);
    holes.insert(static_cast<int>(std::count(out.begin(), out.begin() + 64, 0.0F)));
  }
  EXPECT_EQ(*holes.rbegin(), 18);  // two that are whole and do not meet
  EXPECT_LT(*holes.begin(), 9);    // cut off at a border
}

// --- Together.

TEST(Augmentation, OnlyInTraining) {
  const auto param = parse(
      "rotation: 30 max_scale: 2 max_aspect_ratio: 2 brightness: 1 contrast: 1 saturation: 1 hue: "
      "0.5 cutout_size: 2 crop_size: 4");
  const Image image = noise(3, 8, 8, 7);
  EXPECT_EQ(run(make(param), image.view(), 9), run(make(parse("crop_size: 4")), image.view(), 9));
}

TEST(Augmentation, OneChangeLeavesTheOthersAlone) {
  const Image image = noise(3, 12, 12, 8);
  const auto row = [&](const char* text, std::uint64_t ordinal) {
    return run(make(parse(text), caffe::TRAIN), image.view(), ordinal);
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    // The smallest brightness that is at work changes nothing that floats can tell.
    EXPECT_EQ(row("crop_size: 5 mirror: true brightness: 1e-30", i),
              row("crop_size: 5 mirror: true", i));
    EXPECT_EQ(row("crop_size: 5 mirror: true rotation: 9 contrast: 1e-30 cutout_size: 1", i),
              row("crop_size: 5 mirror: true rotation: 9 cutout_size: 1", i));
  }
}

TEST(Augmentation, AWorkspaceServesPicturesOfAllSizes) {
  for (const char* text : {"rotation: 20 hue: 0.1 crop_size: 4", "resize_short_side: 9 contrast: 1",
                           "resize_height: 5 resize_width: 5 cutout_size: 2"}) {
    const Transformer transformer = make(parse(text), caffe::TRAIN);
    Transformer::Workspace workspace;
    for (const int size : {20, 5, 11, 4}) {
      const Image image = noise(3, size, size + 3, 9);
      const FloatImage floats(image);
      for (const ImageView& view : {image.view(), floats.view}) {
        EXPECT_EQ(run(transformer, view, 4, &workspace), run(transformer, view, 4));
      }
    }
  }
}

// --- What cannot be.

TEST(TransformParam, ValuesOutOfRange) {
  const struct {
    const char *text, *error;
  } rows[] = {
      {"resize_height: 5", "resize_height is 5 and resize_width 0; give both or neither"},
      {"resize_width: 5", "resize_height is 0 and resize_width 5; give both or neither"},
      {"crop_height: 5", "crop_height is 5 and crop_width 0; give both or neither"},
      {"crop_width: 5 crop_size: 5", "crop_height is 0 and crop_width 5; give both or neither"},
      {"resize_height: 100000 resize_width: 100000",
       "resize_height and resize_width are 100000x100000: at most 268435456 pixels can be"},
      {"rotation: -1", "rotation is -1; it can be 0 to 180"},
      {"rotation: 181", "rotation is 181; it can be 0 to 180"},
      {"rotation: nan", "rotation is nan; it can be 0 to 180"},
      {"min_scale: 0", "min_scale is 0; it can be 0.01 to 100"},
      {"max_scale: inf", "max_scale is inf; it can be 0.01 to 100"},
      {"min_scale: 1.5", "min_scale is 1.5, more than max_scale, which is 1"},
      {"max_scale: 0.5", "min_scale is 1, more than max_scale, which is 0.5"},
      {"max_aspect_ratio: 0.5", "max_aspect_ratio is 0.5; it can be 1 to 100"},
      {"brightness: 1.5", "brightness is 1.5; it can be 0 to 1"},
      {"contrast: -0.5", "contrast is -0.5; it can be 0 to 1"},
      {"saturation: 2", "saturation is 2; it can be 0 to 1"},
      {"hue: 0.75", "hue is 0.75; it can be 0 to 0.5"},
      {"cutout_count: 2", "cutout_count is 2, but cutout_size is not given"},
      {"cutout_size: 2 cutout_count: 0", "cutout_count is 0; it can be 1 to 1000"},
      {"cutout_size: 2 cutout_count: 5000", "cutout_count is 5000; it can be 1 to 1000"},
      {"scale: inf", "scale is inf"},
      {"mean_value: 1 mean_value: nan", "mean_value is nan"},
  };
  for (const auto& row : rows) {
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      EXPECT_EQ(error_of([&] { make(parse(row.text), phase); }),
                std::string("transform_param.") + row.error);
    }
  }
  EXPECT_EQ(error_of([] { make(parse("crop_size: 5 crop_height: 5 crop_width: 6")); }),
            "transform_param has both crop_size and crop_height; give one");
  EXPECT_EQ(error_of([] { make(parse("resize_short_side: 5 resize_height: 5 resize_width: 6")); }),
            "transform_param has both resize_height and resize_short_side; give one");
  EXPECT_EQ(error_of([] { make(parse("min_scale: 0.01 crop_height: 0 crop_width: 0")); }), "");
}

TEST(TransformParam, MisfitsOfPictures) {
  const auto error = [](const char* text, const Shape& image) {
    return error_of([&] { make(parse(text), caffe::TRAIN).output_shape(image); });
  };
  EXPECT_EQ(error("crop_height: 4 crop_width: 9", {3, 8, 8}),
            "the image is 3x8x8, smaller than crop_height and crop_width, 4x9; resize_short_side, "
            "or resize_height and resize_width, would enlarge it");
  EXPECT_EQ(error("crop_size: 9 resize_short_side: 8", {3, 16, 20}),
            "the image is 3x16x20, resized to 3x8x10, smaller than crop_size 9");
  EXPECT_EQ(error("hue: 0.1", {1, 8, 8}),
            "the image is 1x8x8; transform_param.saturation and hue need colours, 3 channels");
  EXPECT_EQ(error("saturation: 0.1", {8, 8, 3}),
            "the image is 8x8x3; transform_param.saturation and hue need colours, 3 channels; "
            "8x8x3 looks like height x width x channels, Caffe wants the channels first");
  EXPECT_EQ(error("cutout_size: 6 crop_height: 5 crop_width: 8", {3, 8, 8}),
            "transform_param.cutout_size is 6, larger than what is cut into, 3x5x8");
  EXPECT_EQ(error("resize_short_side: 4000", {1, 1, 1000}),
            "the image is 1x1x1000, resized to 1x4000x4000000: at most 268435456 pixels can be");
}

}  // namespace
}  // namespace crema
