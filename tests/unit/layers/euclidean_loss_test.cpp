#include "op_harness.h"

namespace crema::test {
namespace {

const char* const kLayer = "type: 'EuclideanLoss' bottom: 'a' bottom: 'b' top: 'loss'";

TEST(EuclideanLoss, ByHand) {
  const Result result = run(*make(kLayer), {blob({2, 2}, {1, 2, 3, 4}), blob({2, 2}, {0, 4, 3, 1})},
                            {}, {blob({}, {2})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], 14.0f / 4);
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, -2, 0, 3));
  EXPECT_THAT(result.bottom_gradients[1].values, testing::ElementsAre(-1, 2, 0, -3));
}

TEST(EuclideanLoss, Checks) {
  check_layer(kLayer, {spread({3, 4}, -1, 1, 1), spread({3, 4}, -1, 1, 2)}, {});
  check_layer(kLayer, {spread({3, 4}, -1, 1, 1), spread({3, 2, 2}, -1, 1, 2)}, {});
  EXPECT_TRUE(make(kLayer)->allow_force_backward(1));
  EXPECT_EQ(make(kLayer)->default_loss_weight(), 1);
}

TEST(EuclideanLoss, EmptyBatch) {
  const Result result =
      run(*make(kLayer), {blob({0, 3}, {}), blob({0, 3}, {})}, {}, {blob({}, {1})});
  EXPECT_EQ(result.tops[0].values[0], 0);
}

TEST(EuclideanLoss, IsTheSameEveryTimeOnSeveralThreads) {
  const Blob a = spread({100, 1001}, -1, 1, 1), b = spread({100, 1001}, -1, 1, 2);
  double expected = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double difference = static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]);
    expected += difference * difference / 200;
  }
  RunOptions options;
  options.backward = false;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const float first = run(*make(kLayer), {a, b}, {}, {}, options).tops[0].values[0];
    EXPECT_NEAR(first / expected, 1, 1e-6);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(run(*make(kLayer), {a, b}, {}, {}, options).tops[0].values[0], first);
    }
  }
}

TEST(EuclideanLoss, Errors) {
  EXPECT_EQ(
      infer_error(kLayer, {{3, 4}, {3, 5}}),
      "both bottoms must have the same number of values an item: bottom 0 is 3x4, bottom 1 is "
      "3x5");
  EXPECT_EQ(
      infer_error(kLayer, {{3, 4}, {4, 3}}),
      "both bottoms must have the same number of items (axis 0): bottom 0 is 3x4, bottom 1 is "
      "4x3");
}

}  // namespace
}  // namespace crema::test
