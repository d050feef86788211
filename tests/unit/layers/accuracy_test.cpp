#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "", const std::string& tops = "top: 'a'") {
  return "type: 'Accuracy' bottom: 'x' bottom: 'label' " + tops + " accuracy_param { " + fields +
         " }";
}

Result of(const std::string& text, const Blob& scores, const Blob& labels) {
  RunOptions options;
  options.backward = false;
  return run(*make(text), {scores, labels}, {}, {}, options);
}

TEST(Accuracy, ByHand) {
  const Blob scores = blob({4, 3}, {3, 2, 1, 1, 3, 2, 1, 2, 3, 3, 2, 1});
  const Blob labels = blob({4}, {0, 1, 1, 2});
  EXPECT_EQ(of(layer(), scores, labels).tops[0].values[0], 0.5f);
  EXPECT_EQ(of(layer("top_k: 2"), scores, labels).tops[0].values[0], 0.75f);
  EXPECT_EQ(of(layer("top_k: 3"), scores, labels).tops[0].values[0], 1);
  EXPECT_FLOAT_EQ(of(layer("ignore_label: 1"), scores, labels).tops[0].values[0], 0.5f);
  EXPECT_EQ(of(layer("ignore_label: 1"), scores, blob({4}, {1, 1, 1, 1})).tops[0].values[0], 0);
}

TEST(Accuracy, TiesAndNanAreNotCorrect) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      of(layer(), blob({2, 3}, std::vector<float>(6, 0.0f)), blob({2}, {0, 2})).tops[0].values[0],
      0);
  EXPECT_EQ(of(layer("top_k: 3"), blob({1, 3}, {1, 1, 1}), blob({1}, {0})).tops[0].values[0], 1);
  EXPECT_EQ(of(layer(), blob({2, 2}, {nan, 0, 1, nan}), blob({2}, {0, 0})).tops[0].values[0], 0);
  EXPECT_EQ(of(layer("top_k: 2"), blob({1, 2}, {nan, 0}), blob({1}, {0})).tops[0].values[0], 0);
}

TEST(Accuracy, PerClass) {
  const Result result =
      of(layer("", "top: 'a' top: 'each'"), blob({4, 3}, {3, 2, 1, 1, 3, 2, 1, 2, 3, 3, 2, 1}),
         blob({4}, {0, 1, 1, 1}));
  EXPECT_THAT(result.tops[1].values, testing::ElementsAre(1, testing::FloatEq(1.0f / 3), 0));
}

TEST(Accuracy, AnyAxis) {
  const Blob labels = blob({2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(
      of(layer("axis: 2"), blob({2, 2, 2}, {0, 1, 1, 0, 1, 0, 1, 0}), labels).tops[0].values[0],
      0.75f);
  // Classes at axis 1, positions behind them.
  EXPECT_EQ(of(layer(), blob({2, 2, 2}, {0, 1, 1, 0, 1, 1, 0, 0}), labels).tops[0].values[0],
            0.75f);
}

TEST(Accuracy, EmptyBatch) {
  const Result result = of(layer("", "top: 'a' top: 'each'"), blob({0, 3}, {}), blob({0}, {}));
  EXPECT_EQ(result.tops[0].values[0], 0);
  EXPECT_THAT(result.tops[1].values, testing::ElementsAre(0, 0, 0));
}

TEST(Accuracy, ClassesAlongAxis0) {
  // More classes than labels: items are those of the labels, not of the scores.
  const Blob scores = blob({3, 2}, {1, 0, 2, 5, 0, 3});
  EXPECT_EQ(of(layer("axis: 0"), scores, blob({2}, {1, 0})).tops[0].values[0], 0.5f);
  EXPECT_EQ(error_of([&] {
              of(layer("axis: 0"), scores, blob({2}, {1, 7}));
            }),
            "label 7 of item 1 is not in 0..2 (labels start at 0)");
  EXPECT_EQ(error_of([] { of(layer("axis: 0"), spread({3}), blob({}, {4})); }),
            "label 4 of item 0 is not in 0..2 (labels start at 0)");
}

TEST(Accuracy, Errors) {
  EXPECT_EQ(infer_error(layer("top_k: 4"), {{2, 3}, {2}}),
            "accuracy_param.top_k 4 is not in 1..3, the number of classes");
  EXPECT_EQ(infer_error(layer("top_k: 0"), {{2, 3}, {2}}),
            "accuracy_param.top_k 0 is not in 1..3, the number of classes");
  EXPECT_EQ(infer_error(layer(), {{2, 3}, {3}}),
            "bottom 0 is 2x3: it needs 2 labels, one for every 3 scores, but bottom 1 holds 3 (3)");
  EXPECT_EQ(infer_error(layer("axis: 2"), {{2, 3}, {2}}),
            "accuracy_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
  EXPECT_EQ(error_of([] {
              of(layer(), spread({2, 3}), blob({2}, {0, 3}));
            }),
            "label 3 of item 1 is not in 0..2 (labels start at 0)");
  EXPECT_FALSE(make(layer())->differentiable(0));
}

}  // namespace
}  // namespace crema::test
