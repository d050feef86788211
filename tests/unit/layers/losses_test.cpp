// SigmoidCrossEntropyLoss, HingeLoss, ContrastiveLoss and MultinomialLogisticLoss.
#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string loss(const std::string& type, const std::string& rest = "") {
  return "type: '" + type + "' bottom: 'x' bottom: 'label' top: 'loss' " + rest;
}
std::string contrastive(const std::string& fields = "") {
  return "type: 'ContrastiveLoss' bottom: 'a' bottom: 'b' bottom: 'y' top: 'loss' "
         "contrastive_loss_param { " +
         fields + " }";
}
const Blob kOne = blob({}, {1});

TEST(SigmoidCrossEntropyLoss, ByHand) {
  const std::string text = loss("SigmoidCrossEntropyLoss");
  const float x = std::log(3.0f);  // sigma is 3/4
  const Result result =
      run(*make(text), {blob({2, 2}, {x, 0, -x, x}), blob({2, 2}, {1, 0.5f, 0, 0})}, {},
          {blob({}, {2})});
  EXPECT_NEAR(result.tops[0].values[0], (-2 * std::log(0.75) + std::log(2.0) - std::log(0.25)) / 2,
              1e-6);
  expect_near(result.bottom_gradients[0], blob({2, 2}, {-0.25f, 0, 0.25f, 0.75f}), 1e-6, "dx");
  EXPECT_EQ(make(text)->default_loss_weight(), 1);
  EXPECT_FALSE(make(text)->differentiable(1));
}

TEST(SigmoidCrossEntropyLoss, LargeScoresAreNoOverflow) {
  const Result result =
      run(*make(loss("SigmoidCrossEntropyLoss")),
          {blob({1, 4}, {1e4f, -1e4f, 1e4f, -1e4f}), blob({1, 4}, {1, 0, 0, 1})}, {}, {kOne});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], 2e4f);
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(0, 0, 1, -1));
}

TEST(SigmoidCrossEntropyLoss, CutsTargetsForIgnoreLabel) {
  const Result result = run(
      *make(loss("SigmoidCrossEntropyLoss", "loss_param { ignore_label: 0 normalization: VALID }")),
      {blob({1, 3}, {0, 5, 7}), blob({1, 3}, {1, 0.7f, -0.5f})}, {}, {kOne});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], std::log(2.0f));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(-0.5f, 0, 0));
}

TEST(SigmoidCrossEntropyLoss, Grid) {
  const Blob x = spread({3, 2, 4}, -3, 3), t = spread({3, 8}, 0, 1, 2);
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    const std::string normalization = std::string("normalization: ") + mode;
    check_layer(loss("SigmoidCrossEntropyLoss", "loss_param { " + normalization + " }"), {x, t},
                {});
  }
  Blob some = t;
  for (std::size_t i = 0; i < some.values.size(); i += 3) some.values[i] = -1;
  check_layer(loss("SigmoidCrossEntropyLoss", "loss_param { ignore_label: -1 normalize: true }"),
              {x, some}, {});
  check_layer(loss("SigmoidCrossEntropyLoss"), {spread({5}, -3, 3), spread({5}, 0, 1, 2)}, {});
}

TEST(SigmoidCrossEntropyLoss, IsTheSameOnSeveralThreads) {
  const Blob x = spread({100, 1001}, -3, 3), t = spread({100, 1001}, 0, 1, 2);
  double expected = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const auto score = static_cast<double>(x.values[i]), target = static_cast<double>(t.values[i]);
    expected += (std::log1p(std::exp(score)) - score * target) / 100;
  }
  RunOptions options;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const Result result = run(*make(loss("SigmoidCrossEntropyLoss")), {x, t}, {}, {kOne}, options);
    EXPECT_NEAR(result.tops[0].values[0] / expected, 1, 1e-6);
  }
}

TEST(SigmoidCrossEntropyLoss, Errors) {
  EXPECT_EQ(infer_error(loss("SigmoidCrossEntropyLoss"), {{2, 3}, {2, 4}}),
            "both bottoms must hold the same number of values: bottom 0 is 2x3, bottom 1 is 2x4");
  EXPECT_EQ(
      infer_error(loss("SigmoidCrossEntropyLoss"), {{2, 3}, {3, 2}}),
      "both bottoms must have the same number of items (axis 0): bottom 0 is 2x3, bottom 1 is "
      "3x2");
  EXPECT_EQ(infer_error(loss("SigmoidCrossEntropyLoss"), {{}, {}}),
            "bottom 0 is a scalar; a loss needs items along axis 0");
}

TEST(HingeLoss, ByHand) {
  const std::vector<Blob> bottoms = {blob({2, 3}, {2, 0.5f, -2, 0, 3, -0.5f}),
                                     blob({2}, {1, 0.9f})};
  // Margins: 3, 0.5, 0 and 1, 4, 0.5.
  Result result = run(*make(loss("HingeLoss")), bottoms, {}, {blob({}, {2})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], 9.0f / 2);
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, -1, 0, -1, 1, 1));
  result =
      run(*make(loss("HingeLoss", "hinge_loss_param { norm: L2 }")), bottoms, {}, {blob({}, {2})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], (9 + 0.25f + 1 + 16 + 0.25f) / 2);
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(6, -1, 0, -2, 8, 1));
}

TEST(HingeLoss, Grid) {
  const Blob labels = blob({4, 1, 1, 1}, {0, 5, 2, 3});
  for (const char* norm : {"L1", "L2"}) {
    const std::string rest = std::string("hinge_loss_param { norm: ") + norm + " }";
    check_layer(loss("HingeLoss", rest), {spread({4, 6}, -2.13f, 2.01f), labels}, {}, 2e-3);
    check_layer(loss("HingeLoss", rest), {spread({4, 3, 1, 2}, -2.13f, 2.01f), labels}, {}, 2e-3);
  }
  EXPECT_EQ(run(*make(loss("HingeLoss")), {blob({0, 3}, {}), blob({0}, {})}, {}, {kOne})
                .tops[0]
                .values[0],
            0);
}

TEST(HingeLoss, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Result result =
      run(*make(loss("HingeLoss")), {blob({1, 2}, {nan, 0}), blob({1}, {1})}, {}, {kOne});
  EXPECT_TRUE(std::isnan(result.tops[0].values[0]));
}

TEST(HingeLoss, Errors) {
  EXPECT_EQ(infer_error(loss("HingeLoss"), {{2, 3}, {2, 4}}),
            "bottom 1 must hold one label for each of the 2 items of bottom 0 (2x3), not 8 (2x4)");
  RunOptions options;
  options.describe_item = [](int item) { return "record " + std::to_string(100 + item); };
  EXPECT_EQ(error_of([&] {
              run(*make(loss("HingeLoss")), {spread({2, 3}), blob({2}, {0, 3})}, {}, {}, options);
            }),
            "label 3 of item 1 (record 101) is not in 0..2 (labels start at 0)");
}

TEST(MultinomialLogisticLoss, ByHand) {
  const Result result = run(*make(loss("MultinomialLogisticLoss")),
                            {blob({3, 2}, {0.25f, 0.75f, 0.5f, 0.5f, 0, 1}), blob({3}, {1, 0, 0})},
                            {}, {blob({}, {3})});
  EXPECT_NEAR(result.tops[0].values[0], -(std::log(0.75) + std::log(0.5) + std::log(1e-20)) / 3,
              1e-5);
  expect_near(result.bottom_gradients[0], blob({3, 2}, {0, -1 / 0.75f, -2, 0, -1e20f, 0}), 1e14,
              "dx");
  EXPECT_FLOAT_EQ(result.bottom_gradients[0].values[1], -1 / 0.75f);
  EXPECT_FLOAT_EQ(result.bottom_gradients[0].values[2], -2);
}

TEST(MultinomialLogisticLoss, Grid) {
  check_layer(loss("MultinomialLogisticLoss"), {spread({4, 3}, 0.3f, 1), blob({4}, {0, 2, 1, 2})},
              {}, 1e-3);
  check_layer(loss("MultinomialLogisticLoss"),
              {spread({3, 2, 2}, 0.3f, 1), blob({3, 1}, {0, 3, 1})}, {}, 1e-3);
}

TEST(MultinomialLogisticLoss, Errors) {
  EXPECT_EQ(infer_error(loss("MultinomialLogisticLoss"), {{2, 3}, {2, 3}}),
            "bottom 1 must hold one label for each of the 2 items of bottom 0 (2x3), not 6 (2x3)");
  EXPECT_EQ(
      error_of([&] {
        run(*make(loss("MultinomialLogisticLoss")), {spread({2, 3}), blob({2}, {-1, 0})}, {}, {});
      }),
      "label -1 of item 0 is not in 0..2 (labels start at 0)");
}

TEST(ContrastiveLoss, ByHand) {
  const std::vector<Blob> bottoms = {blob({4, 2}, {3, 4, 0.3f, 0.4f, 3, 4, 1, 1}),
                                     blob({4, 2}, {0, 0, 0, 0, 0, 0, 1, 1}),
                                     blob({4}, {1, 0, 0.5f, 0})};
  // d is 5, 0.5, 5 and 0: similar, 0.5 within the margin, beyond it, and equal features.
  Result result = run(*make(contrastive()), bottoms, {}, {blob({}, {4})});
  EXPECT_NEAR(result.tops[0].values[0], (25 + 0.25 + 0 + 1) / 8, 1e-6);
  const float push = -0.5f / 0.5001f;
  expect_near(result.bottom_gradients[0],
              blob({4, 2}, {3, 4, push * 0.3f, push * 0.4f, 0, 0, 0, 0}), 1e-5, "da");
  expect_near(result.bottom_gradients[1],
              blob({4, 2}, {-3, -4, -push * 0.3f, -push * 0.4f, 0, 0, 0, 0}), 1e-5, "db");
  result = run(*make(contrastive("legacy_version: true margin: 2")), bottoms, {}, {blob({}, {4})});
  EXPECT_NEAR(result.tops[0].values[0], (25 + 1.75 + 0 + 2) / 8, 1e-6);
  expect_near(result.bottom_gradients[0], blob({4, 2}, {3, 4, -0.3f, -0.4f, 0, 0, 0, 0}), 1e-5,
              "da");
}

TEST(ContrastiveLoss, Grid) {
  const Blob a = spread({6, 4}, -0.5f, 0.5f, 1), b = spread({6, 4}, -0.5f, 0.5f, 2);
  const Blob y = blob({6}, {1, 0, 0, 2, 0, 0});
  check_layer(contrastive("margin: 2"), {a, b, y}, {}, 1e-3);
  check_layer(contrastive("margin: 2 legacy_version: true"), {a, b, y}, {}, 1e-3);
  check_layer(contrastive("margin: 0.5"), {{{6, 4, 1, 1}, a.values}, b, {{6, 1, 1, 1}, y.values}},
              {}, 1e-3);
  const auto made = make(contrastive());
  EXPECT_TRUE(made->differentiable(1));
  EXPECT_FALSE(made->differentiable(2));
}

TEST(ContrastiveLoss, Errors) {
  EXPECT_EQ(infer_error(contrastive(), {{2, 3, 2, 2}, {2, 3, 2, 2}, {2}}),
            "bottom 0 must hold one vector an item (N x C), all further axes of size 1, not "
            "2x3x2x2");
  EXPECT_EQ(infer_error(contrastive(), {{2, 3}, {2, 4}, {2}}),
            "both vectors must have the same length: bottom 0 is 2x3, bottom 1 is 2x4");
  EXPECT_EQ(infer_error(contrastive(), {{2, 3}, {2, 3}, {3}}),
            "bottom 2 must hold one flag for each of the 2 pairs, not 3 (3)");
}

}  // namespace
}  // namespace crema::test
