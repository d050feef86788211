#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string layer(const std::string& fields = "") {
  return "type: 'Reduction' bottom: 'x' top: 'y' reduction_param { " + fields + " }";
}

TEST(Reduction, ByHand) {
  const Blob x = blob({2, 3}, {1, -2, 0, 4, 5, -6});
  const Blob dy = blob({2}, {1, 10});
  const auto values = [&](const std::string& operation) {
    return run(*make(layer("axis: 1 coeff: 2 operation: " + operation)), {x}, {}, {dy});
  };
  EXPECT_THAT(values("SUM").tops[0].values, ElementsAre(-2, 6));
  EXPECT_THAT(values("MEAN").tops[0].values, ElementsAre(-2 / 3.f, 2));
  EXPECT_THAT(values("ASUM").tops[0].values, ElementsAre(6, 30));
  EXPECT_THAT(values("SUMSQ").tops[0].values, ElementsAre(10, 154));
  EXPECT_THAT(values("SUM").bottom_gradients[0].values, ElementsAre(2, 2, 2, 20, 20, 20));
  EXPECT_THAT(values("ASUM").bottom_gradients[0].values, ElementsAre(2, -2, 0, 20, 20, -20));
  EXPECT_THAT(values("SUMSQ").bottom_gradients[0].values, ElementsAre(4, -8, 0, 160, 200, -240));
}

TEST(Reduction, Grid) {
  for (const char* operation : {"SUM", "MEAN", "ASUM", "SUMSQ"}) {
    for (const int axis : {0, 1, 2, -1}) {
      const std::string text =
          layer(fmt::format("operation: {} axis: {} coeff: -0.5", operation, axis));
      check_layer(text, {spread({2, 3, 4, 2})}, {});
      check_layer(text, {spread({0, 3, 4})}, {});
    }
    const std::string text = layer(std::string("operation: ") + operation);
    check_layer(text, {spread({7})}, {});
    check_layer(text, {spread({3, 19, 31, 7})}, {}, 0);
  }
}

TEST(Reduction, TheMeanOfNothingIsZero) {
  const Result result =
      run(*make(layer("operation: MEAN axis: 1")), {spread({2, 0})}, {}, {spread({2})});
  EXPECT_THAT(result.tops[0].values, ElementsAre(0, 0));
}

TEST(Reduction, IsTheSameForAnyNumberOfThreads) {
  const Blob x = spread({1, 99991});
  for (const char* operation : {"SUM", "MEAN", "ASUM", "SUMSQ"}) {
    const auto made = make(layer(std::string("operation: ") + operation));
    const float one = run(*made, {x}, {}, {}).tops[0].values[0];
    for (const int threads : {2, 3, 8}) {
      RunOptions options;
      options.threads = threads;
      EXPECT_EQ(run(*made, {x}, {}, {}, options).tops[0].values[0], one) << operation;
    }
  }
}

/// In float, the sum would stop growing at 2^24.
TEST(Reduction, SumsManyValues) {
  const std::int64_t n = (1 << 24) + 1000;
  RunOptions options;
  options.backward = false;
  const Result result =
      run(*make(layer("coeff: 0.5")),
          {blob({n}, std::vector<float>(static_cast<std::size_t>(n), 1))}, {}, {}, options);
  EXPECT_EQ(result.tops[0].values[0], (1 << 23) + 500);
}

TEST(Reduction, KeepsNan) {
  for (const char* operation : {"SUM", "MEAN", "ASUM", "SUMSQ"}) {
    const Result result = run(*make(layer(std::string("operation: ") + operation)),
                              {blob({3}, {1, std::nanf(""), 2})}, {}, {});
    EXPECT_TRUE(std::isnan(result.tops[0].values[0])) << operation;
  }
}

TEST(Reduction, Errors) {
  EXPECT_EQ(infer_error(layer("axis: 2"), {{2, 3}}),
            "reduction_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
}

}  // namespace
}  // namespace crema::test
