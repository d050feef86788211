// Scale and Bias.
#include "op_harness.h"

namespace crema::test {
namespace {

std::string scale(const std::string& fields = "", const std::string& bottoms = "bottom: 'x'") {
  return "type: 'Scale' " + bottoms + " top: 'y' scale_param { " + fields + " }";
}
std::string bias(const std::string& fields = "", const std::string& bottoms = "bottom: 'x'") {
  return "type: 'Bias' " + bottoms + " top: 'y' bias_param { " + fields + " }";
}
const char* const kTwo = "bottom: 'x' bottom: 's'";

TEST(Scale, ValuesByHand) {
  const Result result =
      run(*make(scale("bias_term: true")), {blob({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
          {blob({2}, {10, 100}), blob({2}, {1, -1})}, {blob({2, 2, 2}, {1, 1, 1, 0, 2, 0, 0, 1})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(11, 21, 299, 399, 51, 61, 699, 799));
  EXPECT_THAT(result.bottom_gradients[0].values,
              testing::ElementsAre(10, 10, 100, 0, 20, 0, 0, 100));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(1 + 2 + 2 * 5, 3 + 8));
  EXPECT_THAT(result.param_gradients[1].values, testing::ElementsAre(4, 2));
}

TEST(Bias, ValuesByHand) {
  const Result result = run(*make(bias()), {blob({2, 2}, {1, 2, 3, 4})}, {blob({2}, {10, 20})},
                            {blob({2, 2}, {1, 2, 3, 5})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(4, 7));
}

void check_learned(const std::string& text, const Shape& shape, double h = 1e-2) {
  const std::vector<Blob> x = {spread(shape)};
  check_layer(text, x, spread_params(*make(text), x), h);
}

TEST(Scale, Grid) {
  for (const char* fields :
       {"", "axis: 0", "axis: -1", "axis: 1 num_axes: 2", "axis: 1 num_axes: -1",
        "axis: 0 num_axes: -1", "num_axes: 0", "axis: 2 num_axes: 2"}) {
    for (const char* rest : {"", " bias_term: true"}) {
      check_learned(scale(std::string(fields) + rest), {2, 3, 4, 5});
    }
    check_learned(bias(fields), {2, 3, 4, 5});
  }
  check_learned(scale("bias_term: true"), {3, 4});
  check_learned(scale("axis: 0"), {5});
  check_learned(scale("num_axes: 0 axis: 7"), {});
  check_learned(scale("axis: 5 bias_term: true"), {1, 2, 1, 2, 1, 3, 2});
  check_learned(bias("num_axes: -1"), {2, 3, 2});
}

TEST(Scale, TwoBottoms) {
  const auto check = [](const std::string& fields, const Shape& shape, const Shape& array) {
    const std::vector<Blob> bottoms = {spread(shape), spread(array, -1, 1, 2)};
    const std::string text = scale(fields, kTwo);
    check_layer(text, bottoms, spread_params(*make(text), bottoms));
    check_layer(scale(fields + " bias_term: true", kTwo), bottoms, {spread(array, -1, 1, 3)});
    check_layer(bias(fields, kTwo), bottoms, {});
  };
  check("", {2, 3, 4, 5}, {3});
  check("num_axes: 7", {2, 3, 4, 5}, {3});
  check("axis: 0", {2, 3, 4}, {2, 3, 4});
  check("axis: 0", {2, 3, 4, 2}, {2, 3});
  check("axis: -2", {2, 3, 4}, {3, 4});
  check("", {2, 3, 2}, {});
}

TEST(Scale, ManyThreads) {
  const std::vector<Blob> x = {spread({4, 64, 30, 30})};
  for (const std::string& text : {scale("bias_term: true"), scale("num_axes: 0"), bias()}) {
    check_layer(text, x, spread_params(*make(text), x), 0);
  }
}

TEST(Scale, ChannelsLastWhereOneValueAChannel) {
  const std::vector<Blob> x = {spread({2, 3, 4, 5})};
  EXPECT_EQ(layout_count(*make(scale()), x), 2);
  EXPECT_EQ(layout_count(*make(scale("num_axes: 0")), x), 2);
  EXPECT_EQ(layout_count(*make(scale("axis: 0")), x), 1);
  EXPECT_EQ(layout_count(*make(bias()), x), 2);
}

TEST(Scale, Nothing) {
  for (const Shape& shape : {Shape{0, 3, 2}, Shape{2, 0, 2}, Shape{2, 3, 0}}) {
    check_learned(scale("bias_term: true"), shape, 0);
    check_learned(bias(), shape, 0);
  }
}

TEST(Scale, Fillers) {
  const Inference plain = make(scale("bias_term: true"))->infer({{2, 3}});
  EXPECT_EQ(plain.params[0].filler.value(), 1);
  EXPECT_EQ(plain.params[1].filler.value(), 0);
  const Inference given =
      make(scale("filler { type: 'gaussian' } bias_term: true bias_filler { value: 4 }"))
          ->infer({{2, 3}});
  EXPECT_EQ(given.params[0].filler.type(), "gaussian");
  EXPECT_EQ(given.params[1].filler.value(), 4);
  EXPECT_EQ(make(bias())->infer({{2, 3}}).params[0].filler.value(), 0);
}

TEST(Scale, WhatBackwardReads) {
  EXPECT_TRUE(make(scale())->backward_reads_bottom(0));
  EXPECT_FALSE(make(bias())->backward_reads_bottom(0));
}

TEST(Scale, Errors) {
  EXPECT_EQ(infer_error(scale("num_axes: 2"), {{2, 3}}),
            "scale_param.num_axes 2 from axis 1 on reaches past the last axis of the bottom (2x3)");
  EXPECT_EQ(infer_error(bias("num_axes: -2"), {{2, 3}}),
            "bias_param.num_axes is -2; it must be -1 (all axes from axis on) or more");
  EXPECT_EQ(infer_error(scale("", kTwo), {{2, 3}, {2}}),
            "bottom 1 (2) must have the sizes of bottom 0 (2x3) from axis 1 on");
  EXPECT_EQ(infer_error(bias("", kTwo), {{2, 3}, {3, 1}}),
            "bottom 1 (3x1) must have the sizes of bottom 0 (2x3) from axis 1 on");
  EXPECT_THAT(infer_error(scale("axis: 2"), {{2, 3}}), testing::StartsWith("scale_param.axis: "));
  EXPECT_THAT(infer_error(scale("filler { type: 'none' }"), {{2, 3}}),
              testing::StartsWith("scale_param.filler: "));
}

}  // namespace
}  // namespace crema::test
