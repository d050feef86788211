#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string layer(const std::string& fields = "", int tops = 2) {
  std::string text = "type: 'Slice' bottom: 'x' ";
  for (int i = 0; i < tops; ++i) text += fmt::format("top: 'y{}' ", i);
  return text + "slice_param { " + fields + " }";
}

TEST(Slice, ByHand) {
  const Result result = run(*make(layer("slice_point: 1")),
                            {blob({2, 3, 2}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12})}, {},
                            {blob({2, 1, 2}, {1, 2, 3, 4}), {}});
  EXPECT_THAT(result.tops[0].values, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(result.tops[1].shape, Shape({2, 2, 2}));
  EXPECT_THAT(result.tops[1].values, ElementsAre(5, 6, 7, 8, 9, 10, 11, 12));
  // Nothing comes from top 1.
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0));
}

TEST(Slice, Grid) {
  check_layer(layer(), {spread({2, 4, 3, 2})}, {});
  check_layer(layer("slice_point: 1 slice_point: 3", 3), {spread({2, 6, 3, 2})}, {});
  check_layer(layer("axis: 0"), {spread({4, 3, 2, 2})}, {});
  check_layer(layer("axis: 0 slice_point: 1"), {spread({3, 3, 2})}, {});
  check_layer(layer("axis: -1 slice_point: 2"), {spread({2, 3, 2, 5})}, {});
  check_layer(layer("slice_dim: 1 slice_point: 2"), {spread({2, 3})}, {});
  check_layer(layer("slice_point: 1"), {spread({1, 2, 3, 3})}, {});
  check_layer(layer("", 1), {spread({2, 3, 2, 2})}, {});
  check_layer(layer("", 5), {spread({3, 5})}, {});
  check_layer(layer("axis: 0"), {spread({0, 4, 2, 2})}, {});
  check_layer(layer("slice_point: 3"), {spread({2, 3, 2, 2})}, {});  // the last part is empty
  check_layer(layer("slice_point: 20"), {spread({3, 37, 29, 13})}, {}, 0);
}

TEST(Slice, OneTopIsAView) {
  EXPECT_TRUE(make(layer("", 1))->is_view(0));
  EXPECT_TRUE(make(layer("", 1))->is_gradient_view());
  EXPECT_FALSE(make(layer())->is_view(0));
}

TEST(Slice, Errors) {
  EXPECT_EQ(infer_error(layer(), {{2, 5}}),
            "axis 1 of 2x5 cannot be cut into 2 equal parts; give slice_param.slice_point");
  EXPECT_EQ(infer_error(layer("slice_point: 2", 3), {{2, 5}}),
            "slice_param.slice_point is given 1 times for 3 tops; give 2, or none for equal parts");
  EXPECT_EQ(infer_error(layer("slice_point: 2 slice_point: 2", 3), {{2, 5}}),
            "slice_param.slice_point 2 must be greater than 2: points begin above 0 and increase");
  EXPECT_EQ(infer_error(layer("slice_point: 0"), {{2, 5}}),
            "slice_param.slice_point 0 must be greater than 0: points begin above 0 and increase");
  EXPECT_EQ(infer_error(layer("slice_point: 6"), {{2, 5}}),
            "slice_param.slice_point 6 is beyond the end of axis 1 of 2x5");
  EXPECT_EQ(infer_error(layer("axis: 2"), {{2, 5}}),
            "slice_param.axis: axis 2 does not exist in a blob of 2 axes (2x5)");
  EXPECT_EQ(infer_error(layer("slice_dim: 2"), {{2, 5}}),
            "slice_param.slice_dim: axis 2 does not exist in a blob of 2 axes (2x5)");
  EXPECT_EQ(infer_error(layer("axis: 1 slice_dim: 1"), {{2, 4}}),
            "slice_param.axis is given together with slice_dim, its older name; give one only");
}

}  // namespace
}  // namespace crema::test
