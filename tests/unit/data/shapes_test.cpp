#include "data/shapes.h"

#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "data/convert_images.h"
#include "data/make_shapes.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::contents_of;
using testing::error_of;
using testing::TemporaryFolder;
using testing::WorkingFolder;

double brightness(const Image& image, int x, int y) {
  const auto pixel = [&](int c) {
    return static_cast<double>(
        image.bytes[static_cast<std::size_t>((c * image.height + y) * image.width + x)]);
  };
  return 0.114 * pixel(0) + 0.587 * pixel(1) + 0.299 * pixel(2);
}

/// Least and greatest brightness.
struct Range {
  double low = 255, high = 0;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Of what lies outside the box, two pixels left out: the smoothed edge of a tip.
Range ground_of(const ShapesPicture& picture) {
  Range range;
  for (int y = 0; y < picture.image.height; ++y) {
    for (int x = 0; x < picture.image.width; ++x) {
      const bool near = x >= picture.box.xmin - 2 && x <= picture.box.xmax + 2 &&
                        y >= picture.box.ymin - 2 && y <= picture.box.ymax + 2;
      if (!near) range.add(brightness(picture.image, x, y));
    }
  }
  return range;
}

// The ground's brightness stays within 48 levels, the figure's is another: what of a figure lay
// outside the box would be seen, and so would a box that is too large.
TEST(Shapes, BoxesFitTheFigures) {
  int sides_touched = 0;
  constexpr int kPictures = 400;
  for (int i = 0; i < kPictures; ++i) {
    SCOPED_TRACE(i);
    const ShapesPicture picture = draw_shapes({64, 10, 3, 0}, i);
    const PixelBox& box = picture.box;
    ASSERT_TRUE(box.xmin >= 0 && box.ymin >= 0 && box.xmax < 64 && box.ymax < 64);
    ASSERT_TRUE(box.xmin < box.xmax && box.ymin < box.ymax);
    const Range ground = ground_of(picture);
    EXPECT_LE(ground.high - ground.low, 49);
    const auto stands_out = [&](int x, int y) {
      const double value = brightness(picture.image, x, y);
      return value < ground.low - 1 || value > ground.high + 1;
    };
    bool left = false, right = false, top = false, bottom = false;
    for (int y = box.ymin; y <= box.ymax; ++y) {
      left |= stands_out(box.xmin, y);
      right |= stands_out(box.xmax, y);
    }
    for (int x = box.xmin; x <= box.xmax; ++x) {
      top |= stands_out(x, box.ymin);
      bottom |= stands_out(x, box.ymax);
    }
    sides_touched += left + right + top + bottom;
  }
  // A pixel of a figure's tip may be half ground and hide in its texture.
  EXPECT_GT(sides_touched, 0.97 * 4 * kPictures);
}

// Sizes that follow from what the figures are.
TEST(Shapes, FiguresHaveTheirProportions) {
  std::map<int, std::pair<double, double>> range;  // of width / height
  std::map<int, double> longest;
  for (int i = 0; i < 2000; ++i) {
    const ShapesPicture picture = draw_shapes({96, 10, 4, 0}, i);
    const PixelBox& box = picture.box;
    const double width = box.xmax - box.xmin + 1, height = box.ymax - box.ymin + 1;
    auto& [low, high] = range.try_emplace(picture.label, 1, 1).first->second;
    low = std::min(low, width / height);
    high = std::max(high, width / height);
    longest[picture.label] = std::max({longest[picture.label], width, height});
  }
  ASSERT_EQ(range.size(), 10u);
  for (const int round : {0, 3}) {  // disc, ring
    EXPECT_GT(range[round].first, 0.94);
    EXPECT_LT(range[round].second, 1.06);
  }
  EXPECT_GT(range[1].first, 0.9);   // square
  EXPECT_LT(range[8].first, 0.35);  // bar: 0.25 / 0.95
  EXPECT_GT(range[8].second, 2.8);
  EXPECT_LT(range[6].first, 0.6);  // diamond: 1 / 2
  // No figure reaches beyond a circle of 0.36 of the size.
  for (const auto& [label, length] : longest) {
    EXPECT_LE(length, 2 * 0.36 * 96 + 1) << label;
    EXPECT_GE(length, 1.2 * 0.36 * 96) << label;
  }
}

TEST(Shapes, DependOnSeedAndNumberOnly) {
  const ShapesPicture picture = draw_shapes({64, 10, 5, 0}, 7),
                      again = draw_shapes({64, 10, 5, 0}, 7);
  EXPECT_EQ(picture.image.bytes, again.image.bytes);
  EXPECT_EQ(picture.box, again.box);
  EXPECT_NE(picture.image.bytes, draw_shapes({64, 10, 5, 0}, 8).image.bytes);
  EXPECT_NE(picture.image.bytes, draw_shapes({64, 10, 6, 0}, 7).image.bytes);
}

TEST(Shapes, ClassesAreEquallyFrequent) {
  std::map<int, int> count;
  for (int i = 0; i < 3000; ++i) ++count[draw_shapes({24, 3, 0, 0}, i).label];
  EXPECT_EQ(count.size(), 3u);
  for (const auto& [label, times] : count) EXPECT_NEAR(times, 1000, 100) << label;
  EXPECT_EQ(figure_names().size(), 10u);
  EXPECT_EQ(figure_names()[2], "triangle");
}

TEST(Shapes, DistractorsLeaveTheFigureAlone) {
  int changed = 0;
  for (int i = 0; i < 100; ++i) {
    const ShapesPicture plain = draw_shapes({64, 10, 8, 0}, i),
                        cluttered = draw_shapes({64, 10, 8, 6}, i);
    EXPECT_EQ(plain.box, cluttered.box);
    EXPECT_EQ(plain.label, cluttered.label);
    changed += plain.image.bytes != cluttered.image.bytes;
    const PixelBox& box = plain.box;
    for (int c = 0; c < 3; ++c) {
      for (int y = std::max(box.ymin - 1, 0); y <= std::min(box.ymax + 1, 63); ++y) {
        for (int x = std::max(box.xmin - 1, 0); x <= std::min(box.xmax + 1, 63); ++x) {
          const auto at = static_cast<std::size_t>((c * 64 + y) * 64 + x);
          ASSERT_EQ(plain.image.bytes[at], cluttered.image.bytes[at]) << i;
        }
      }
    }
  }
  EXPECT_GT(changed, 95);
}

TEST(Shapes, WrongOptions) {
  EXPECT_EQ(error_of([] { draw_shapes({64, 11, 0, 0}, 0); }), "there are 1 to 10 classes, not 11");
  EXPECT_EQ(error_of([] {
              draw_shapes({23, 10, 0, 0}, 0);
            }),
            "the size of the pictures is 23; it can be 24 to 4096");
  EXPECT_EQ(error_of([] {
              draw_shapes({64, 10, 0, -1}, 0);
            }),
            "the number of distractors is -1; it can be 0 to 100");
  MakeShapesOptions none;
  none.count = 0;
  EXPECT_EQ(error_of([&] { make_shapes_folder(none, "never"); }),
            "the number of pictures is 0; it must be at least 1");
}

class MakeShapes : public ::testing::Test {
 protected:
  MakeShapes() : there_(folder_.path()) {
    options_.pictures.seed = 9;
    options_.count = 40;
  }

  TemporaryFolder folder_;
  WorkingFolder there_;
  MakeShapesOptions options_;
};

TEST_F(MakeShapes, FoldersHoldWhatIsDrawn) {
  make_shapes_folder(options_, "out");
  EXPECT_EQ(std::distance(boost::filesystem::directory_iterator("out"), {}), 43);
  EXPECT_EQ(contents_of("out/labels.txt").substr(0, 12), "disc\nsquare\n");
  std::istringstream list(contents_of("out/list.txt")), boxes(contents_of("out/boxes.csv"));
  std::string line;
  std::getline(boxes, line);
  EXPECT_EQ(line, "key,label,xmin,ymin,xmax,ymax");
  for (int i = 0; i < 40; ++i) {
    const ShapesPicture picture = draw_shapes(options_.pictures, i);
    const std::string name = fmt::format("{:08}.png", i);
    std::getline(list, line);
    EXPECT_EQ(line, fmt::format("{} {}", name, picture.label));
    std::getline(boxes, line);
    const PixelBox& box = picture.box;
    EXPECT_EQ(line, fmt::format("{},{},{},{},{},{}", name, picture.label, box.xmin, box.ymin,
                                box.xmax, box.ymax));
    Image image;
    read_image("out/" + name, Decode::kAsIs, &image);
    EXPECT_EQ(image.bytes, picture.image.bytes);
  }
  EXPECT_FALSE(std::getline(boxes, line));
}

TEST_F(MakeShapes, DataBasesHoldWhatConvertImagesetMakes) {
  make_shapes_folder(options_, "out");
  for (const bool encoded : {false, true}) {
    ConvertImagesOptions convert;
    convert.encoded = encoded;
    convert_images("out/", "out/list.txt", "converted", convert);
    make_shapes_database(options_, "db", caffe::DataParameter::LMDB, encoded);
    LmdbReader expected("converted"), made("db");
    EXPECT_EQ(made.records(), 40);
    for (int i = 0; expected.next(); ++i) {
      ASSERT_TRUE(made.next());
      EXPECT_EQ(made.key(), fmt::format("{:08}", i));
      EXPECT_EQ(made.value(), expected.value());
    }
    EXPECT_EQ(contents_of("db/boxes.csv").substr(30, 9), "00000000,");
    EXPECT_EQ(contents_of("db/labels.txt"), contents_of("out/labels.txt"));
    boost::filesystem::remove_all("converted");
    boost::filesystem::remove_all("db");
  }
}

TEST_F(MakeShapes, MoreBeginWithTheSame) {
  for (const int threads : {1, 3}) {
    options_.threads = threads;
    options_.count = 20;
    const std::string few = fmt::format("few{}", threads), many = fmt::format("many{}", threads);
    make_shapes_database(options_, few, caffe::DataParameter::LMDB, false);
    options_.count = 40;
    make_shapes_database(options_, many, caffe::DataParameter::LMDB, false);
    EXPECT_TRUE(contents_of(many + "/boxes.csv").starts_with(contents_of(few + "/boxes.csv")));
  }
  EXPECT_TRUE(contents_of("many1/data.mdb") == contents_of("many3/data.mdb"));
}

}  // namespace
}  // namespace crema
