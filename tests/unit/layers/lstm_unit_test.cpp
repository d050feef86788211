#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

const std::string kUnit =
    R"(type: "LSTMUnit" bottom: "c0" bottom: "gates" bottom: "cont" top: "c" top: "h")";

TEST(LstmUnit, ByHand) {
  // i = f = o = 1/2, g = tanh(gate).
  const Result result = run(*make(kUnit),
                            {blob({1, 2, 1}, {0.8f, 0.8f}),
                             blob({1, 2, 4}, {0, 0, 0, 1, 0, 0, 0, 1}), blob({1, 2}, {1, 0})},
                            {}, {blob({1, 2, 1}, {1, 1}), blob({1, 2, 1}, {0, 0})});
  const auto g = static_cast<float>(std::tanh(1.0));
  const float kept = 0.4f + g / 2, fresh = g / 2;
  expect_near(result.tops[0], blob({1, 2, 1}, {kept, fresh}), 1e-6, "c");
  expect_near(result.tops[1], blob({1, 2, 1}, {std::tanh(kept) / 2, std::tanh(fresh) / 2}), 1e-6,
              "h");
  expect_near(result.bottom_gradients[0], blob({1, 2, 1}, {0.5f, 0}), 1e-6, "dc0");
  const float di = g / 4, df = 0.8f / 4, dg = (1 - g * g) / 2;
  expect_near(result.bottom_gradients[1], blob({1, 2, 4}, {di, df, 0, dg, di, 0, 0, dg}), 1e-6,
              "dgates");
}

TEST(LstmUnit, Gradients) {
  for (const auto& [streams, units] : {std::pair{1, 1}, {1, 5}, {3, 2}, {4, 33}, {0, 2}, {2, 0}}) {
    Blob cont = spread({1, streams}, 0, 1, 3);
    for (float& value : cont.values) value = value > 0.4f ? 1 : 0;
    const std::vector<Blob> bottoms = {spread({1, streams, units}),
                                       spread({1, streams, 4 * units}, -2, 2, 2), cont};
    check_layer(kUnit, bottoms, {}, streams * units == 0 ? 0 : 1e-2);
  }
}

TEST(LstmUnit, EachGradientByItself) {
  const auto unit = make(kUnit);
  EXPECT_FALSE(unit->differentiable(2));
  const std::vector<Blob> bottoms = {spread({1, 2, 3}), spread({1, 2, 12}, -2, 2, 2),
                                     blob({1, 2}, {1, 0})};
  const std::vector<Blob> gradients = spread_gradients(*unit, bottoms);
  const Result all = run(*unit, bottoms, {}, gradients);
  for (const std::size_t bottom : {0u, 1u}) {
    RunOptions options;
    options.bottom_gradients = {bottom == 0, bottom == 1, 0};
    EXPECT_EQ(run(*unit, bottoms, {}, gradients, options).bottom_gradients[bottom].values,
              all.bottom_gradients[bottom].values);
  }
  // The gradients of c and h add up, and each may be missing.
  const Result of_c = run(*unit, bottoms, {}, {gradients[0]});
  const Result of_h = run(*unit, bottoms, {}, {Blob{}, gradients[1]});
  for (const std::size_t bottom : {0u, 1u}) {
    Blob sum = of_c.bottom_gradients[bottom];
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] += of_h.bottom_gradients[bottom].values[i];
    }
    expect_near(sum, all.bottom_gradients[bottom], 1e-6, "sum");
  }
}

TEST(LstmUnit, HugeSumsSaturate) {
  const Result result = run(
      *make(kUnit),
      {blob({1, 1, 1}, {3}), blob({1, 1, 4}, {-1e30f, 1e30f, 1e30f, -1e30f}), blob({1, 1}, {1})},
      {}, {blob({1, 1, 1}, {1}), blob({1, 1, 1}, {1})});
  EXPECT_FLOAT_EQ(result.tops[0].values[0], 3);
  EXPECT_FLOAT_EQ(result.tops[1].values[0], std::tanh(3.0f));
}

TEST(LstmUnit, Errors) {
  EXPECT_EQ(infer_error(kUnit, {{2, 2, 3}, {2, 2, 12}, {2, 2}}),
            "the previous cell state (bottom 0) must have shape 1 x streams x units, not 2x2x3");
  EXPECT_EQ(infer_error(kUnit, {{2, 3}, {1, 2, 12}, {1, 2}}),
            "the previous cell state (bottom 0) must have shape 1 x streams x units, not 2x3");
  for (const Shape& gates : {Shape{1, 2, 13}, Shape{1, 3, 12}, Shape{2, 12}, Shape{2, 2, 12}}) {
    EXPECT_EQ(infer_error(kUnit, {{1, 2, 3}, gates, {1, 2}}),
              "the gates (bottom 1) must have shape 1 x streams x 4*units for a cell state of "
              "shape 1x2x3, not " +
                  gates.str());
  }
  EXPECT_EQ(infer_error(kUnit, {{1, 2, 3}, {1, 2, 12}, {1, 3}}),
            "cont (bottom 2) must have shape 1x2 for a cell state of shape 1x2x3, not 1x3");
}

}  // namespace
}  // namespace crema::test
