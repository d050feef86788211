#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "", int bottoms = 2) {
  std::string text = "type: 'Concat' top: 'y' ";
  for (int i = 0; i < bottoms; ++i) text += fmt::format("bottom: 'x{}' ", i);
  return text + "concat_param { " + fields + " }";
}

TEST(Concat, ByHand) {
  const Result result = run(
      *make(layer()), {blob({2, 1, 2}, {1, 2, 3, 4}), blob({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12})},
      {}, {spread({2, 3, 2})});
  EXPECT_EQ(result.tops[0].shape, Shape({2, 3, 2}));
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12));
}

TEST(Concat, Grid) {
  check_layer(layer(), {spread({2, 2, 3, 2}), spread({2, 3, 3, 2})}, {});
  check_layer(layer("", 3), {spread({2, 2, 3, 2}), spread({2, 1, 3, 2}), spread({2, 3, 3, 2})}, {});
  check_layer(layer("axis: 0"), {spread({2, 3}), spread({1, 3})}, {});
  check_layer(layer("axis: -1"), {spread({2, 3, 2, 2}), spread({2, 3, 2, 1})}, {});
  check_layer(layer("concat_dim: 1"), {spread({2, 3}), spread({2, 1})}, {});
  check_layer(layer("", 1), {spread({2, 3, 2, 2})}, {});
}

TEST(Concat, OneBottomIsAView) {
  EXPECT_TRUE(make(layer("", 1))->is_view(0));
  EXPECT_FALSE(make(layer())->is_view(0));
}

TEST(Concat, SingleGradients) {
  const auto made = make(layer());
  RunOptions options;
  options.bottom_gradients = {0, 1};
  const Result result =
      run(*made, {spread({2, 1}), spread({2, 2})}, {}, {blob({2, 3}, {1, 2, 3, 4, 5, 6})}, options);
  EXPECT_THAT(result.bottom_gradients[1].values, testing::ElementsAre(2, 3, 5, 6));
}

TEST(Concat, Errors) {
  EXPECT_EQ(infer_error(layer(), {{2, 3, 4}, {2, 3, 5}}),
            "bottoms must agree in all axes but 1: bottom 0 is 2x3x4, bottom 1 is 2x3x5");
  EXPECT_EQ(infer_error(layer(), {{2, 3, 4}, {2, 3}}),
            "bottoms must have the same number of axes: bottom 0 is 2x3x4, bottom 1 is 2x3");
  EXPECT_EQ(infer_error(layer("axis: 3"), {{2, 3, 4}, {2, 3, 4}}),
            "concat_param.axis: axis 3 does not exist in a blob of 3 axes (2x3x4)");
  EXPECT_EQ(infer_error(layer("concat_dim: 3"), {{2, 3, 4}, {2, 3, 4}}),
            "concat_param.concat_dim: axis 3 does not exist in a blob of 3 axes (2x3x4)");
  EXPECT_EQ(infer_error(layer("axis: 1 concat_dim: 1"), {{2, 3}, {2, 3}}),
            "concat_param.axis is given together with concat_dim, its older name; give one only");
}

}  // namespace
}  // namespace crema::test
