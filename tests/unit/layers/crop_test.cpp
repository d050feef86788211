#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string layer(const std::string& fields = "") {
  return "type: 'Crop' bottom: 'x' bottom: 'size' top: 'y' crop_param { " + fields + " }";
}

/// A bottom whose values nobody may look at.
Blob size_only(const Shape& shape) {
  return blob(shape, std::vector<float>(static_cast<std::size_t>(shape.count()),
                                        std::numeric_limits<float>::quiet_NaN()));
}

TEST(Crop, ByHand) {
  const Result result =
      run(*make(layer("axis: 0 offset: 1 offset: 2")),
          {blob({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), size_only({2, 2})}, {},
          {blob({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(result.tops[0].values, ElementsAre(6, 7, 10, 11));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4));
}

TEST(Crop, Grid) {
  const Blob x = spread({2, 4, 5, 6});
  check_layer(layer(), {x, size_only({2, 4, 3, 2})}, {});
  check_layer(layer("offset: 2"), {x, size_only({7, 9, 3, 2})}, {});
  check_layer(layer("offset: 2 offset: 4"), {x, size_only({2, 4, 3, 2})}, {});
  check_layer(layer("axis: 0 offset: 1"), {x, size_only({1, 2, 3, 4})}, {});
  check_layer(layer("axis: 1 offset: 0 offset: 2 offset: 1"), {x, size_only({9, 3, 3, 5})}, {});
  check_layer(layer("axis: 3 offset: 5"), {x, size_only({2, 4, 5, 1})}, {});
  check_layer(layer("axis: -2 offset: 1"), {x, size_only({2, 4, 1, 1})}, {});
  check_layer(layer("axis: 1 offset: 1"), {x, size_only({2, 1, 2, 2})}, {});
  check_layer(layer(), {x, x}, {});
  check_layer(layer("offset: 1"), {x, size_only({2, 4, 0, 2})}, {});
  check_layer(layer("offset: 1"), {spread({2, 3, 4, 3, 5}), size_only({2, 3, 2, 2, 4})}, {});
  check_layer(layer("axis: 0"), {spread({9}), size_only({4, 8})}, {});
  check_layer(layer("offset: 3"), {spread({2, 17, 40, 41}), size_only({2, 17, 33, 30})}, {}, 0);
}

TEST(Crop, ManyAxes) {
  std::vector<std::int64_t> dims(32, 1), size(32, 1);
  dims[0] = 2;
  for (const std::size_t axis : {3, 17, 31}) dims[axis] = 3;
  size[17] = size[31] = 2;
  check_layer(layer("axis: 1"), {spread(Shape(dims)), size_only(Shape(size))}, {});
}

TEST(Crop, TakesNoGradientFromItsSize) { EXPECT_FALSE(make(layer())->differentiable(1)); }

TEST(Crop, Errors) {
  EXPECT_EQ(infer_error(layer("offset: 2"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
            "the crop leaves the blob in axis 2: offset 2 and size 3 (bottom 1 is 1x1x3x3) are "
            "beyond 4 (bottom 0 is 1x1x4x4)");
  EXPECT_EQ(infer_error(layer("offset: 4294967295"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
            "the crop leaves the blob in axis 2: offset 4294967295 and size 3 (bottom 1 is "
            "1x1x3x3) are beyond 4 (bottom 0 is 1x1x4x4)");
  EXPECT_EQ(infer_error(layer("offset: 1 offset: 1 offset: 1"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
            "crop_param.offset is given 3 times, but 2 axes are cropped (from axis 2 of 1x1x4x4 "
            "on); give one for all or one for each");
  EXPECT_EQ(infer_error(layer("axis: 4"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
            "crop_param.axis: axis 4 does not exist in a blob of 4 axes (1x1x4x4)");
  EXPECT_EQ(infer_error(layer(), {{1, 1, 4, 4}, {3, 3}}),
            "bottom 1, whose size is cut out, must have the axes of bottom 0: that is 1x1x4x4, "
            "bottom 1 is 3x3");
}

}  // namespace
}  // namespace crema::test
