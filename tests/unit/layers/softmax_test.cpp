// Softmax and SoftmaxWithLoss.
#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string softmax(const std::string& fields = "") {
  return "type: 'Softmax' bottom: 'x' top: 'y' softmax_param { " + fields + " }";
}
std::string loss(const std::string& rest = "") {
  return "type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'label' top: 'loss' " + rest;
}

/// Scores whose loss and gradient are known: probabilities 1/4 and 3/4, then 1/2 and 1/2.
const Blob kScores = {{2, 2}, {0, std::log(3.0f), 5, 5}};

TEST(Softmax, ByHand) {
  const Result result = run(*make(softmax()), {kScores}, {}, {blob({2, 2}, {1, 0, 0, 2})});
  expect_near(result.tops[0], blob({2, 2}, {0.25f, 0.75f, 0.5f, 0.5f}), 1e-6, "top");
  expect_near(result.bottom_gradients[0], blob({2, 2}, {0.1875f, -0.1875f, -0.5f, 0.5f}), 1e-6,
              "gradient");
}

TEST(Softmax, Grid) {
  check_layer(softmax(), {spread({4, 5}, -2, 2)}, {});
  check_layer(softmax(), {spread({2, 3, 2, 3}, -2, 2)}, {});
  check_layer(softmax("axis: 2"), {spread({2, 3, 4}, -2, 2)}, {});
  check_layer(softmax("axis: 0"), {spread({3, 4}, -2, 2)}, {});
  EXPECT_EQ(layout_count(*make(softmax()), {spread({2, 3, 2, 3})}), 2);
  EXPECT_EQ(layout_count(*make(softmax("axis: 2")), {spread({2, 3, 2, 3})}), 1);
}

TEST(Softmax, Errors) {
  EXPECT_EQ(infer_error(softmax("axis: 2"), {{2, 3}}),
            "softmax_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
}

TEST(SoftmaxLoss, ByHand) {
  const Result result = run(*make(loss()), {kScores, blob({2}, {1, 0})}, {}, {blob({}, {2})});
  EXPECT_EQ(result.tops[0].shape, Shape());
  EXPECT_FLOAT_EQ(result.tops[0].values[0], -(std::log(0.75f) + std::log(0.5f)) / 2);
  expect_near(result.bottom_gradients[0], blob({2, 2}, {0.25f, -0.25f, -0.5f, 0.5f}), 1e-6,
              "gradient");
}

TEST(SoftmaxLoss, Grid) {
  const Blob flat = spread({4, 3}, -2, 2), image = spread({2, 3, 2, 2}, -2, 2);
  const Blob labels = blob({4}, {0, 2, 1, 2});
  const Blob map = blob({2, 1, 2, 2}, {0, 1, 2, 2, 1, 0, 0, 2});
  check_layer(loss(), {flat, labels}, {});
  check_layer(loss("loss_param { ignore_label: 2 }"), {flat, labels}, {});
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    const std::string normalization = std::string("normalization: ") + mode;
    check_layer(loss("loss_param { " + normalization + " }"), {image, map}, {});
    check_layer(loss("loss_param { ignore_label: 0 " + normalization + " }"), {image, map}, {});
  }
  check_layer(loss("softmax_param { axis: 2 }"),
              {spread({2, 3, 4}, -2, 2), blob({2, 3}, {0, 3, 2, 1, 1, 0})}, {});
  EXPECT_EQ(layout_count(*make(loss()), {image, map}), 2);
}

TEST(SoftmaxLoss, Divisors) {
  // 8 positions, 3 of them ignored, in 2 items; all scores equal, so that each loss is log 3.
  const Blob image = blob({2, 3, 2, 2}, std::vector<float>(24, 1.0f));
  const Blob map = blob({2, 2, 2}, {0, 1, 2, 2, 1, 0, 0, 2});
  const auto divisor = [&](const std::string& fields) {
    RunOptions options;
    options.backward = false;
    const Result result = run(*make(loss("loss_param { ignore_label: 0 " + fields + " }")),
                              {image, map}, {}, {}, options);
    return 5 * std::log(3.0f) / result.tops[0].values[0];
  };
  EXPECT_FLOAT_EQ(divisor(""), 5);
  EXPECT_FLOAT_EQ(divisor("normalization: FULL"), 8);
  EXPECT_FLOAT_EQ(divisor("normalization: VALID"), 5);
  EXPECT_FLOAT_EQ(divisor("normalization: BATCH_SIZE"), 2);
  EXPECT_FLOAT_EQ(divisor("normalization: NONE"), 1);
  EXPECT_FLOAT_EQ(divisor("normalize: true"), 5);
  EXPECT_FLOAT_EQ(divisor("normalize: false"), 2);
  EXPECT_FLOAT_EQ(divisor("normalize: false normalization: FULL"), 8);
}

TEST(SoftmaxLoss, AllIgnoredIsZeroNotNan) {
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    const Result result =
        run(*make(loss(std::string("loss_param { ignore_label: 1 normalization: ") + mode + " }")),
            {kScores, blob({2}, {1, 1})}, {}, {blob({}, {1})});
    EXPECT_EQ(result.tops[0].values[0], 0);
    EXPECT_THAT(result.bottom_gradients[0].values, testing::Each(0.0f));
  }
}

TEST(SoftmaxLoss, IgnoreLabelMayBeNoClass) {
  const Result result = run(*make(loss("loss_param { ignore_label: 255 }")),
                            {kScores, blob({2}, {255, 0})}, {}, {blob({}, {1})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], std::log(2.0f));
  EXPECT_NO_THROW(run(*make(loss("loss_param { ignore_label: -1 }")), {kScores, blob({2}, {-1, 0})},
                      {}, {blob({}, {1})}));
}

TEST(SoftmaxLoss, ProbabilitiesAsSecondTop) {
  const std::string text =
      "type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'label' top: 'loss' top: 'p'";
  const Result result = run(*make(text), {kScores, blob({2}, {1, 0})}, {},
                            {blob({}, {2}), blob({2, 2}, {9, 9, 9, 9})});
  expect_near(result.tops[1], blob({2, 2}, {0.25f, 0.75f, 0.5f, 0.5f}), 1e-6, "probabilities");
  expect_near(result.bottom_gradients[0], blob({2, 2}, {0.25f, -0.25f, -0.5f, 0.5f}), 1e-6,
              "gradient");
}

TEST(SoftmaxLoss, ExtremeScores) {
  const Result result =
      run(*make(loss()), {blob({1, 2}, {1000, -1000}), blob({1}, {1})}, {}, {blob({}, {1})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], -std::log(std::numeric_limits<float>::min()));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, -1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(
      run(*make(loss()), {blob({1, 2}, {nan, 0}), blob({1}, {1})}, {}, {}).tops[0].values[0]));
}

TEST(SoftmaxLoss, Labels) {
  const auto error = [](float label, bool described = false) {
    RunOptions options;
    if (described) {
      options.describe_item = [](int item) {
        return fmt::format("record \"{:08d}\" of train_lmdb", item);
      };
    }
    return error_of([&] {
      run(*make(loss()), {spread({5, 10}), blob({5}, {0, 9, 1, label, 2})}, {}, {}, options);
    });
  };
  EXPECT_EQ(error(12), "label 12 of item 3 is not in 0..9 (labels start at 0)");
  EXPECT_EQ(
      error(12, true),
      "label 12 of item 3 (record \"00000003\" of train_lmdb) is not in 0..9 (labels start at "
      "0)");
  EXPECT_EQ(error(10), "label 10 of item 3 is not in 0..9 (labels start at 0)");
  EXPECT_EQ(error(-1), "label -1 of item 3 is not in 0..9 (labels start at 0)");
  EXPECT_EQ(error(1e10f), "label 1e+10 of item 3 is not in 0..9 (labels start at 0)");
  EXPECT_EQ(error(std::numeric_limits<float>::quiet_NaN()),
            "label nan of item 3 is not in 0..9 (labels start at 0)");
  // Cut towards zero, as Caffe does.
  EXPECT_NO_THROW(run(*make(loss()), {spread({1, 3}), blob({1}, {2.7f})}, {}, {}));
  EXPECT_NO_THROW(run(*make(loss()), {spread({1, 3}), blob({1}, {-0.5f})}, {}, {}));
  EXPECT_EQ(error_of([] {
              run(*make(loss()), {spread({2, 3, 2, 2}), blob({2, 2, 2}, {0, 1, 2, 0, 1, 3, 0, 0})},
                  {}, {});
            }),
            "label 3 of item 1, position 1 is not in 0..2 (labels start at 0)");
}

TEST(SoftmaxLoss, EmptyBatch) {
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    const std::string text = loss(std::string("loss_param { normalization: ") + mode + " }");
    const Result result = run(*make(text), {blob({0, 3}, {}), blob({0}, {})}, {}, {blob({}, {1})});
    EXPECT_EQ(result.tops[0].values[0], 0);
    EXPECT_TRUE(result.bottom_gradients[0].values.empty());
  }
  const Result planes =
      run(*make(loss()), {blob({2, 3, 0, 4}, {}), blob({2, 1, 0, 4}, {})}, {}, {blob({}, {1})});
  EXPECT_EQ(planes.tops[0].values[0], 0);
}

TEST(SoftmaxLoss, ClassesAlongAxis0) {
  const std::string text = loss("softmax_param { axis: 0 }");
  check_layer(text, {spread({3, 3}, -2, 2), blob({3}, {0, 2, 1})}, {});
  EXPECT_EQ(error_of([&] {
              run(*make(text), {spread({3, 3}), blob({3}, {0, 5, 1})}, {}, {});
            }),
            "label 5 of item 1 is not in 0..2 (labels start at 0)");
}

TEST(SoftmaxLoss, Errors) {
  EXPECT_EQ(infer_error(loss(), {{2, 0}, {2}}),
            "softmax_param.axis: axis 1 of 2x0 holds no classes");
  EXPECT_EQ(
      infer_error(loss(), {{2, 3, 2}, {2}}),
      "bottom 0 is 2x3x2: it needs 4 labels, one for every 3 scores, but bottom 1 holds 2 (2)");
  EXPECT_EQ(
      infer_error(loss(), {{2, 3}, {3}}),
      "both bottoms must have the same number of items (axis 0): bottom 0 is 2x3, bottom 1 is "
      "3");
  EXPECT_EQ(infer_error(loss(), {{}, {2}}),
            "bottom 0 is a scalar; a loss needs items along axis 0");
  EXPECT_EQ(make(loss())->default_loss_weight(), 1);
  EXPECT_EQ(make(loss())->anonymous_tops(), 1);
  EXPECT_FALSE(make(loss())->allow_force_backward(1));
}

}  // namespace
}  // namespace crema::test
