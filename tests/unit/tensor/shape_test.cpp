#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "../proto/scratch.h"

namespace crema {
namespace {

using testing::error_of;

TEST(ShapeTest, AScalarHasNoAxesAndCountOne) {
  const Shape scalar;
  EXPECT_EQ(scalar.axes(), 0);
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(scalar.str(), "scalar");
}

TEST(ShapeTest, CountsRangesOfAxes) {
  const Shape shape{2, 3, 4, 5};
  EXPECT_EQ(shape.count(), 120);
  EXPECT_EQ(shape.count(1, 3), 12);
  EXPECT_EQ(shape.count(2, 2), 1);
  EXPECT_EQ(shape.count_from(2), 20);
  EXPECT_EQ(shape.count_from(4), 1);
  EXPECT_EQ(shape.str(), "2x3x4x5");
}

TEST(ShapeTest, ADimensionMayBeZero) {
  const Shape shape{4, 0, 3};
  EXPECT_EQ(shape.count(), 0);
  EXPECT_EQ(shape.count_from(2), 3);
}

TEST(ShapeTest, NegativeDimensionsAreRefused) {
  EXPECT_EQ(error_of([] { Shape{2, -1}; }), "a dimension cannot be negative: -1");
}

TEST(ShapeTest, MoreThan32AxesAreRefused) {
  EXPECT_EQ(Shape(std::vector<std::int64_t>(32, 1)).axes(), 32);
  EXPECT_EQ(error_of([] { Shape(std::vector<std::int64_t>(33, 1)); }),
            "a shape has at most 32 axes, not 33");
}

TEST(ShapeTest, LongAndShortShapesAreTheSame) {
  for (const int axes : {0, 1, 5, 6, 7, 32}) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(axes), 2);
    if (axes > 0) dims.back() = 3;
    const Shape shape(dims);
    EXPECT_EQ(shape.axes(), axes);
    EXPECT_TRUE(std::equal(dims.begin(), dims.end(), shape.dims().begin(), shape.dims().end()));
    Shape copy = shape;
    EXPECT_EQ(copy, shape);
    const Shape moved = std::move(copy);
    EXPECT_EQ(moved, shape);
    copy = Shape{7};
    EXPECT_EQ(copy.str(), "7");
    copy = shape;
    EXPECT_EQ(copy, shape);
    if (axes == 0) continue;
    EXPECT_EQ(shape.with(0, 9)[0], 9);
    EXPECT_EQ(shape.with(0, 9).count_from(1), shape.count_from(1));
    EXPECT_LT(shape, shape.with(axes - 1, 4));
    dims.push_back(1);
    if (axes < 32) {
      EXPECT_LT(shape, Shape(dims));
      EXPECT_NE(shape, Shape(dims));
    }
  }
}

TEST(ShapeTest, CountsThatDoNotFitAreRefused) {
  const std::int64_t big = std::int64_t{1} << 31;
  EXPECT_EQ((Shape{big, big / 2}).count(), std::int64_t{1} << 61);
  EXPECT_EQ(error_of([&] {
              Shape{big, big};
            }),
            "a blob of shape 2147483648x2147483648 is too large");
  EXPECT_NE(error_of([&] { Shape{big, big, big}; }), "");
}

TEST(ShapeTest, NegativeAxesCountFromTheEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.canonical_axis(0), 0);
  EXPECT_EQ(shape.canonical_axis(2), 2);
  EXPECT_EQ(shape.canonical_axis(-1), 2);
  EXPECT_EQ(shape.canonical_axis(-3), 0);
  EXPECT_EQ(error_of([&] { shape.canonical_axis(3); }),
            "axis 3 does not exist in a blob of 3 axes (2x3x4)");
  EXPECT_EQ(error_of([&] { shape.canonical_axis(-4); }),
            "axis -4 does not exist in a blob of 3 axes (2x3x4)");
  EXPECT_NE(error_of([] { Shape().canonical_axis(0); }), "");
}

TEST(ShapeTest, LegacyAxesThatAreNotThereCountAsOne) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape.legacy(0), 2);
  EXPECT_EQ(shape.legacy(1), 3);
  EXPECT_EQ(shape.legacy(2), 1);
  EXPECT_EQ(shape.legacy(3), 1);
}

TEST(ShapeTest, WithReplacesOneDimension) {
  EXPECT_EQ((Shape{2, 3}.with(0, 7)), (Shape{7, 3}));
  EXPECT_NE(error_of([] { Shape{2, 3}.with(1, -1); }), "");
}

TEST(ShapeTest, ComparesDimensions) {
  EXPECT_EQ((Shape{1, 2}), (Shape{1, 2}));
  EXPECT_NE((Shape{1, 2}), (Shape{1, 2, 1}));
  EXPECT_LT((Shape{1, 2}), (Shape{1, 3}));
}

}  // namespace
}  // namespace crema
