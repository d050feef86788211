#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "") {
  return "type: 'MVN' bottom: 'x' top: 'y' mvn_param { " + fields + " }";
}

Blob top_of(const std::string& text, const Blob& x) {
  RunOptions options;
  options.backward = false;
  return run(*make(text), {x}, {}, {}, options).tops[0];
}

TEST(Mvn, ValuesByHand) {
  const Blob x = blob({1, 2, 1, 2}, {1, 3, 10, 50});
  EXPECT_THAT(top_of(layer("eps: 0"), x).values, testing::ElementsAre(-1, 1, -1, 1));
  // eps is added to the deviation.
  EXPECT_THAT(top_of(layer("eps: 1"), x).values,
              testing::ElementsAre(-0.5f, 0.5f, testing::FloatEq(-20.0f / 21),
                                   testing::FloatEq(20.0f / 21)));
  EXPECT_THAT(top_of(layer("normalize_variance: false"), x).values,
              testing::ElementsAre(-1, 1, -20, 20));
  EXPECT_THAT(top_of(layer("normalize_variance: false across_channels: true"), x).values,
              testing::ElementsAre(-15, -13, -6, 34));
}

TEST(Mvn, TopAlwaysHasFourAxes) {
  EXPECT_EQ(make(layer())->infer({{2, 3, 4}}).tops[0], (Shape{2, 3, 4, 1}));
  EXPECT_EQ(make(layer())->infer({{5}}).tops[0], (Shape{5, 1, 1, 1}));
  EXPECT_EQ(make(layer())->infer({{}}).tops[0], (Shape{1, 1, 1, 1}));
}

TEST(Mvn, EqualValuesGiveZero) {
  EXPECT_THAT(top_of(layer(), blob({1, 2, 3}, {1e4f, 1e4f, 1e4f, 7, 7, 7})).values,
              testing::Each(0.0f));
}

TEST(Mvn, Grid) {
  for (const char* fields : {"", "across_channels: true", "normalize_variance: false",
                             "across_channels: true normalize_variance: false"}) {
    for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{2, 2, 7}}) {
      check_layer(layer(fields), {spread(shape, -2, 3)}, {});
    }
    check_layer(layer(fields), {spread({4, 3, 100, 101})}, {}, 0);
    check_layer(layer(fields), {spread({3, 5})}, {}, 0);
    check_layer(layer(fields), {spread({2, 0, 3})}, {}, 0);
  }
  // The gradient takes no account of eps beside the deviation, so that differences see another.
  check_layer(layer("eps: 0.5"), {spread({2, 3, 4, 5})}, {}, 0);
}

TEST(Mvn, WhatBackwardReads) {
  EXPECT_TRUE(make(layer())->backward_reads_top(0));
  EXPECT_FALSE(make(layer("normalize_variance: false"))->backward_reads_top(0));
  EXPECT_FALSE(make(layer())->backward_reads_bottom(0));
}

TEST(Mvn, Errors) {
  EXPECT_EQ(infer_error(layer(), {{1, 2, 3, 4, 5}}),
            "the bottom must have at most 4 axes, not 5 (1x2x3x4x5)");
  EXPECT_EQ(infer_error(layer("eps: -1"), {{1, 2}}), "mvn_param.eps is -1; it must be 0 or more");
}

}  // namespace
}  // namespace crema::test
