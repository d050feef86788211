// Flatten and Reshape.
#include "op_harness.h"

namespace crema::test {
namespace {

std::string flatten(const std::string& fields = "") {
  return "type: 'Flatten' bottom: 'x' top: 'y' flatten_param { " + fields + " }";
}
std::string reshape(const std::string& fields) {
  return "type: 'Reshape' bottom: 'x' top: 'y' reshape_param { " + fields + " }";
}
std::string dims(std::initializer_list<int> sizes) {
  std::string text = "shape {";
  for (const int size : sizes) text += fmt::format(" dim: {}", size);
  return text + " } ";
}

Shape top_of(const std::string& text, const Shape& bottom) {
  return make(text)->infer({bottom}).tops[0];
}

TEST(Flatten, Shapes) {
  EXPECT_EQ(top_of(flatten(), {2, 3, 4, 5}), Shape({2, 60}));
  EXPECT_EQ(top_of(flatten("axis: 0"), {2, 3, 4, 5}), Shape({120}));
  EXPECT_EQ(top_of(flatten("axis: 1 end_axis: 2"), {2, 3, 4, 5}), Shape({2, 12, 5}));
  EXPECT_EQ(top_of(flatten("axis: -3 end_axis: -2"), {2, 3, 4, 5}), Shape({2, 12, 5}));
  EXPECT_EQ(top_of(flatten("axis: 2 end_axis: 2"), {2, 3, 4, 5}), Shape({2, 3, 4, 5}));
  EXPECT_EQ(top_of(flatten(), {0, 3, 4}), Shape({0, 12}));
  // An axis of size 1, as Caffe's arithmetic has it.
  EXPECT_EQ(top_of(flatten("axis: 1 end_axis: 0"), {2, 3}), Shape({2, 1, 3}));
}

TEST(Flatten, Errors) {
  EXPECT_EQ(infer_error(flatten("axis: 4"), {{2, 3, 4, 5}}),
            "flatten_param.axis: axis 4 does not exist in a blob of 4 axes (2x3x4x5)");
  EXPECT_EQ(infer_error(flatten("end_axis: -5"), {{2, 3, 4, 5}}),
            "flatten_param.end_axis: axis -5 does not exist in a blob of 4 axes (2x3x4x5)");
  EXPECT_EQ(infer_error(flatten("axis: 2 end_axis: 0"), {{2, 3, 4}}),
            "flatten_param: end_axis 0 lies before axis 2 in a blob of 3 axes (2x3x4)");
  EXPECT_EQ(infer_error("type: 'Flatten' bottom: 'x' top: 'x'", {{2, 3, 4}}),
            "the top must have another name than the bottom: Flatten does not work in place");
}

TEST(Reshape, Shapes) {
  EXPECT_EQ(top_of(reshape(dims({4, 4})), {2, 8}), Shape({4, 4}));
  EXPECT_EQ(top_of(reshape(dims({0, 0, -1})), {2, 3, 4, 5}), Shape({2, 3, 20}));
  EXPECT_EQ(top_of(reshape(dims({-1})), {2, 3, 4}), Shape({24}));
  EXPECT_EQ(top_of(reshape(dims({-1}) + "axis: 1 num_axes: 2"), {2, 3, 4, 5}), Shape({2, 12, 5}));
  // Axes that are inserted.
  EXPECT_EQ(top_of(reshape(dims({1}) + "axis: 1 num_axes: 0"), {2, 8}), Shape({2, 1, 8}));
  EXPECT_EQ(top_of(reshape(dims({1, 1}) + "axis: -1"), {2, 8}), Shape({2, 8, 1, 1}));
  EXPECT_EQ(top_of(reshape(dims({1}) + "axis: -3 num_axes: 0"), {2, 8}), Shape({1, 2, 8}));
  // -2 is the last axis.
  EXPECT_EQ(top_of(reshape(dims({2, 4}) + "axis: -2"), {2, 8}), Shape({2, 2, 4}));
  // A 0 counts from axis on.
  EXPECT_EQ(top_of(reshape(dims({0, -1}) + "axis: 1"), {2, 3, 4, 5}), Shape({2, 3, 20}));
  EXPECT_EQ(top_of(reshape(""), {1, 1}), Shape({}));
  EXPECT_EQ(top_of(reshape(dims({-1, 1})), Shape{}), Shape({1, 1}));
}

TEST(Reshape, EmptyBlobs) {
  EXPECT_EQ(top_of(reshape(dims({0, -1})), {0, 3, 4}), Shape({0, 12}));
  EXPECT_EQ(top_of(reshape(dims({-1, 12})), {0, 3, 4}), Shape({0, 12}));
  EXPECT_EQ(top_of(reshape(dims({0, 0, 2, -1})), {0, 3, 4}), Shape({0, 3, 2, 2}));
}

TEST(Reshape, Errors) {
  EXPECT_EQ(infer_error(reshape(dims({3, 5})), {{2, 8}}),
            "the bottom has 16 values (2x8), but reshape_param.shape makes it 15 (3x5)");
  EXPECT_EQ(infer_error(reshape(dims({3, -1})), {{2, 8}}),
            "reshape_param.shape: the -1 cannot be inferred, since the 16 values of the bottom "
            "(2x8) are no multiple of the other dims' 3");
  EXPECT_EQ(infer_error(reshape(dims({-1, -1})), {{2, 8}}),
            "reshape_param.shape has 2 dims of -1; only one can be inferred");
  EXPECT_EQ(infer_error(reshape(dims({-2})), {{2, 8}}),
            "reshape_param.shape: dim -2 is neither a size nor 0 (copied) nor -1 (inferred)");
  EXPECT_EQ(infer_error(reshape(dims({2, 8, 0})), {{2, 8}}),
            "reshape_param.shape: dim 2 is 0, which copies axis 2 of the bottom, but that has 2 "
            "axes (2x8)");
  EXPECT_EQ(infer_error(reshape(dims({1}) + "axis: 3"), {{2, 8}}),
            "reshape_param.axis 3 is not in -3..2 for a blob of 2 axes (2x8); -1 is after the last "
            "axis");
  EXPECT_EQ(infer_error(reshape(dims({1}) + "axis: -4"), {{2, 8}}),
            "reshape_param.axis -4 is not in -3..2 for a blob of 2 axes (2x8); -1 is after the "
            "last axis");
  EXPECT_EQ(infer_error(reshape(dims({1}) + "axis: 1 num_axes: 2"), {{2, 8}}),
            "reshape_param.num_axes 2 from axis 1 on is more than the blob has (2x8)");
  EXPECT_EQ(infer_error(reshape(dims({1}) + "num_axes: -2"), {{2, 8}}),
            "reshape_param.num_axes -2 must be at least 0, or -1 for all axes from axis on");
  EXPECT_EQ(infer_error("type: 'Reshape' bottom: 'x' top: 'x'", {{1}}),
            "the top must have another name than the bottom: Reshape does not work in place");
  EXPECT_THAT(infer_error(reshape("shape { dim: 9223372036854775807 dim: 9 }"), {{2, 8}}),
              testing::HasSubstr("9223372036854775807"));
}

TEST(Reshaping, IsAView) {
  for (const std::string& text : {flatten(), reshape(dims({0, -1}))}) {
    EXPECT_TRUE(make(text)->is_view(0));
    EXPECT_TRUE(make(text)->is_gradient_view());
    check_layer(text, {spread({2, 3, 4, 5})}, {});
    check_layer(text, {spread({0, 3, 4})}, {});
  }
}

}  // namespace
}  // namespace crema::test
