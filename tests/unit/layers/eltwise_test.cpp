#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string layer(const std::string& fields = "", int bottoms = 2) {
  std::string text = "type: 'Eltwise' top: 'y' ";
  for (int i = 0; i < bottoms; ++i) text += fmt::format("bottom: 'x{}' ", i);
  return text + "eltwise_param { " + fields + " }";
}

std::vector<Blob> several(int n, const Shape& shape) {
  std::vector<Blob> blobs;
  for (int i = 0; i < n; ++i) {
    blobs.push_back(spread(shape, -1, 1, static_cast<std::uint64_t>(10 + i)));
  }
  return blobs;
}

TEST(Eltwise, Sum) {
  const Result result = run(*make(layer("coeff: 2 coeff: -1", 2)),
                            {blob({2}, {1, 2}), blob({2}, {10, 20})}, {}, {blob({2}, {3, 4})});
  EXPECT_THAT(result.tops[0].values, ElementsAre(-8, -16));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(6, 8));
  EXPECT_THAT(result.bottom_gradients[1].values, ElementsAre(-3, -4));
}

TEST(Eltwise, ProductWithZeros) {
  const std::vector<Blob> bottoms = {blob({3}, {0, 2, 3}), blob({3}, {5, 0, 7})};
  const Blob dy = blob({3}, {1, 10, 100});
  const Result stable = run(*make(layer("operation: PROD")), bottoms, {}, {dy});
  EXPECT_THAT(stable.tops[0].values, ElementsAre(0, 0, 21));
  EXPECT_THAT(stable.bottom_gradients[0].values, ElementsAre(5, 0, 700));
  EXPECT_THAT(stable.bottom_gradients[1].values, ElementsAre(0, 20, 300));
  // y / x is 0 / 0 there, in Caffe too.
  const Result quick =
      run(*make(layer("operation: PROD stable_prod_grad: false")), bottoms, {}, {dy});
  EXPECT_THAT(quick.bottom_gradients[0].values, ElementsAre(testing::IsNan(), 0, 700));
  EXPECT_THAT(quick.bottom_gradients[1].values, ElementsAre(0, testing::IsNan(), 300));
}

TEST(Eltwise, MaxGivesTiesToBottomOneAndToNoLaterOne) {
  const Result result =
      run(*make(layer("operation: MAX", 3)),
          {blob({4}, {1, 5, 2, 3}), blob({4}, {1, 4, 2, 3}), blob({4}, {1, 5, 9, -3})}, {},
          {blob({4}, {10, 20, 30, 40})});
  EXPECT_THAT(result.tops[0].values, ElementsAre(1, 5, 9, 3));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(0, 20, 0, 0));
  EXPECT_THAT(result.bottom_gradients[1].values, ElementsAre(10, 0, 0, 40));
  EXPECT_THAT(result.bottom_gradients[2].values, ElementsAre(0, 0, 30, 0));
}

TEST(Eltwise, MaxKeepsNan) {
  const std::vector<Blob> bottoms = {blob({4}, {kNan, 1, 1, 0}), blob({4}, {0, kNan, 1, 0}),
                                     blob({4}, {5, 5, kNan, 0})};
  RunOptions forward_only;
  forward_only.backward = false;
  for (const RunOptions& options : {RunOptions(), forward_only}) {
    const Result result =
        run(*make(layer("operation: MAX", 3)), bottoms, {}, {blob({4}, {1, 2, 3, 4})}, options);
    EXPECT_THAT(result.tops[0].values,
                ElementsAre(testing::IsNan(), testing::IsNan(), testing::IsNan(), 0));
    if (!options.backward) continue;
    EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(1, 0, 0, 0));
    EXPECT_THAT(result.bottom_gradients[1].values, ElementsAre(0, 2, 0, 4));
    EXPECT_THAT(result.bottom_gradients[2].values, ElementsAre(0, 0, 3, 0));
  }
}

TEST(Eltwise, Grid) {
  for (const Shape& shape : {Shape{2, 3, 2, 3}, Shape{1, 7}, Shape{3, 2, 5}, Shape{2, 1, 3, 1, 2},
                             Shape{}, Shape{0, 3, 2, 2}}) {
    for (const int bottoms : {2, 3, 4}) {
      std::string coefficients;
      for (int i = 0; i < bottoms; ++i) coefficients += fmt::format("coeff: {} ", 1 - 0.75 * i);
      const std::vector<Blob> x = several(bottoms, shape);
      check_layer(layer("", bottoms), x, {});
      check_layer(layer(coefficients, bottoms), x, {});
      check_layer(layer("operation: PROD", bottoms), x, {});
      // Values of several bottoms lie close together, so that a step may change who wins.
      check_layer(layer("operation: MAX", bottoms), x, {}, 1e-3, 5e-3);
    }
  }
  // Far from 0, where the quotient is well behaved.
  check_layer(layer("operation: PROD stable_prod_grad: false", 3),
              {spread({2, 3, 2, 2}, 0.5f, 1.5f, 1), spread({2, 3, 2, 2}, -2, -1, 2),
               spread({2, 3, 2, 2}, 1, 2, 3)},
              {});
}

/// Enough for threads to share it, with an end that fills no vector.
TEST(Eltwise, Large) {
  for (const char* fields : {"", "coeff: 1 coeff: -2", "operation: PROD", "operation: MAX"}) {
    check_layer(layer(fields), several(2, {3, 5, 37, 41}), {}, 0);
  }
}

TEST(Eltwise, WhatMayBeOverwritten) {
  EXPECT_TRUE(make(layer())->forward_in_place());
  EXPECT_FALSE(make(layer("", 3))->forward_in_place());  // the third may be a view of the first
  EXPECT_FALSE(make(layer("operation: PROD"))->forward_in_place());
  EXPECT_FALSE(make(layer())->backward_reads_bottom(0));
  EXPECT_FALSE(make(layer("operation: MAX"))->backward_reads_bottom(0));
}

TEST(Eltwise, SingleGradients) {
  for (const char* operation : {"SUM", "PROD", "MAX"}) {
    const auto made = make(layer(std::string("operation: ") + operation));
    const std::vector<Blob> x = several(2, {2, 3});
    const Blob dy = spread({2, 3}, -1, 1, 5);
    const Result both = run(*made, x, {}, {dy});
    for (const std::size_t wanted : {0, 1}) {
      RunOptions options;
      options.bottom_gradients = {wanted == 0, wanted == 1};
      const Result one = run(*made, x, {}, {dy}, options);
      EXPECT_EQ(one.bottom_gradients[wanted].values, both.bottom_gradients[wanted].values);
      EXPECT_TRUE(one.bottom_gradients[1 - wanted].values.empty());
    }
  }
}

TEST(Eltwise, Errors) {
  EXPECT_EQ(infer_error(layer(), {{2, 3}, {2, 4}}),
            "bottoms must have the same shape: bottom 0 is 2x3, bottom 1 is 2x4");
  EXPECT_EQ(infer_error(layer("coeff: 1"), {{2, 3}, {2, 3}}),
            "eltwise_param.coeff is given 1 times for 2 bottoms; give none, or one a bottom");
  EXPECT_EQ(infer_error(layer("operation: PROD coeff: 1 coeff: 2"), {{2, 3}, {2, 3}}),
            "eltwise_param.coeff has no meaning with operation: PROD, only with SUM");
}

}  // namespace
}  // namespace crema::test
