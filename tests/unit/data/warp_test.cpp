// Bilinear sampling against its definition in double precision.
#include "data/warp.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "fixtures.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::noise;

std::vector<float> warped(const Image& image, const LinearMap& map, PictureSize to) {
  std::vector<float> out(static_cast<std::size_t>(image.channels * to.count()));
  WarpScratch scratch;
  warp(image.bytes.data(), image.channels, image.view().size(), map, to, &scratch, out.data());
  // Floats give the same.
  const std::vector<float> floats(image.bytes.begin(), image.bytes.end());
  std::vector<float> again(out.size());
  warp(floats.data(), image.channels, image.view().size(), map, to, &scratch, again.data());
  EXPECT_EQ(out, again);
  return out;
}

double sample(const Image& image, std::int64_t c, double row, double column) {
  row = std::clamp(row, 0.0, static_cast<double>(image.height - 1));
  column = std::clamp(column, 0.0, static_cast<double>(image.width - 1));
  double sum = 0;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const double down = 1 - std::abs(row - static_cast<double>(y));
      const double right = 1 - std::abs(column - static_cast<double>(x));
      if (down <= 0 || right <= 0) continue;
      sum += down * right *
             image.bytes[static_cast<std::size_t>((c * image.height + y) * image.width + x)];
    }
  }
  return sum;
}

TEST(Warp, TheIdentityCopies) {
  const Image image = noise(3, 5, 9, 1);
  EXPECT_THAT(warped(image, {}, {5, 9}), ElementsAreArray(image.bytes));
}

TEST(Warp, AQuarterTurn) {
  // Row y of the result is column 1 - y of the source: clockwise 1 2 3 / 4 5 6 becomes 4 1 / 5 2 /
  // 6 3.
  const Image image{1, 2, 3, {1, 2, 3, 4, 5, 6}};
  LinearMap map;
  map.row = 1;
  map.row_y = 0;
  map.row_x = -1;
  map.column = 0;
  map.column_y = 1;
  map.column_x = 0;
  EXPECT_THAT(warped(image, map, {3, 2}), ElementsAre(4, 1, 5, 2, 6, 3));
}

TEST(Warp, BordersGoOn) {
  const Image image{1, 1, 2, {10, 20}};
  LinearMap map;
  map.column = -2;
  map.column_x = 0.5;
  EXPECT_THAT(warped(image, map, {1, 9}), ElementsAre(10, 10, 10, 10, 10, 15, 20, 20, 20));
  const Image dot{1, 1, 1, {7}};
  map.row = 5;
  EXPECT_THAT(warped(dot, map, {2, 2}), ElementsAre(7, 7, 7, 7));
}

TEST(Warp, IsItsDefinition) {
  const PictureSize sizes[] = {{7, 11}, {1, 6}, {6, 1}, {20, 20}};
  unsigned seed = 0;
  for (const PictureSize from : sizes) {
    for (const PictureSize to : sizes) {
      ++seed;
      const Image image = noise(seed % 2 == 0 ? 1 : 3, from.height, from.width, seed);
      LinearMap map;
      map.row = -1.3 + seed;
      map.row_y = 0.7;
      map.row_x = 0.45;
      map.column = 2.2;
      map.column_y = -0.61;
      map.column_x = 1.1;
      const std::vector<float> out = warped(image, map, to);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i) {
        const auto y = static_cast<double>(i / to.width % to.height);
        const auto x = static_cast<double>(i % to.width);
        ASSERT_NEAR(out[static_cast<std::size_t>(i)],
                    sample(image, i / to.count(), map.row + map.row_y * y + map.row_x * x,
                           map.column + map.column_y * y + map.column_x * x),
                    1e-4);
      }
    }
  }
}

TEST(Warp, ResizingIsThatOfImages) {
  const Image image = noise(3, 7, 10, 3);
  for (const PictureSize to : {PictureSize{14, 5}, PictureSize{3, 31}, PictureSize{7, 10}}) {
    Image resized;
    resize_image(image, to.height, to.width, &resized);
    const std::vector<float> out = warped(image, resizing_map({7, 10}, to), to);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], resized.bytes[i], 1.0);
  }
}

}  // namespace
}  // namespace crema
