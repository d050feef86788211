#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields, const std::string& more_bottoms = "",
                  const std::string& more_tops = "") {
  return R"(type: "RNN" bottom: "x" bottom: "cont" )" + more_bottoms + R"(top: "y" )" + more_tops +
         "recurrent_param { " + fields + " }";
}
const std::string kStatic = R"(bottom: "s" )";
const std::string kState = R"(bottom: "h0" )";
const std::string kFinal = R"(top: "h" )";

TEST(Rnn, OneUnitByHand) {
  const std::vector<Blob> params = {blob({1, 1}, {1}), blob({1}, {0.5f}), blob({1, 1}, {2}),
                                    blob({1, 1}, {3}), blob({1}, {-1})};
  const Result result = run(*make(layer("num_output: 1")),
                            {blob({3, 1, 1}, {0.1f, 0.2f, 0.3f}), blob({3, 1}, {1, 1, 0})}, params,
                            {blob({3, 1, 1}, {1, 1, 1})});
  const double h1 = std::tanh(0.6), h2 = std::tanh(0.7 + 2 * h1), h3 = std::tanh(0.8);
  const auto out = [](double h) { return static_cast<float>(std::tanh(3 * h - 1)); };
  expect_near(result.tops[0], blob({3, 1, 1}, {out(h1), out(h2), out(h3)}), 1e-6, "y");
  const double slope = 3 * (1 - std::pow(std::tanh(3 * h3 - 1), 2)) * (1 - h3 * h3);
  EXPECT_NEAR(result.bottom_gradients[0].values[2], slope, 1e-6);
}

TEST(Rnn, ShapesAndParameters) {
  const auto inference = make(layer("num_output: 3 expose_hidden: true", kStatic + kState, kFinal))
                             ->infer({{5, 2, 8}, {5, 2}, {2, 6}, {1, 2, 3}});
  EXPECT_EQ(inference.tops, (std::vector<Shape>{{5, 2, 3}, {1, 2, 3}}));
  std::vector<Shape> params;
  for (const ParamDef& param : inference.params) params.push_back(param.shape);
  EXPECT_EQ(params, (std::vector<Shape>{{3, 8}, {3}, {3, 6}, {3, 3}, {3, 3}, {3}}));
  EXPECT_EQ(inference.multiply_adds, 10 * 3 * (8 + 3 + 3) + 2 * 3 * 6);
  EXPECT_EQ(make(layer("num_output: 3"))->infer({{5, 2, 8}, {5, 2}}).params.size(), 5u);
}

TEST(Rnn, Gradients) {
  struct Case {
    std::int64_t steps, streams, inputs, statics, units;
  };
  for (const Case& each :
       {Case{1, 1, 2, 0, 1}, Case{1, 3, 2, 2, 2}, Case{5, 1, 2, 0, 2}, Case{4, 2, 3, 2, 3},
        Case{0, 2, 3, 0, 3}, Case{3, 0, 3, 2, 3}, Case{2, 2, 0, 0, 2}}) {
    const std::string text =
        layer(fmt::format("num_output: {}", each.units), each.statics > 0 ? kStatic : "");
    std::vector<Blob> bottoms = {spread({each.steps, each.streams, each.inputs}),
                                 spread({each.steps, each.streams}, 0, 1, 3)};
    if (each.statics > 0) bottoms.push_back(spread({each.streams, each.statics}, -1, 1, 9));
    // Unlike LSTM's, these gradients are exact for fractions too.
    const bool empty = bottoms[0].shape.count() == 0;
    check_layer(text, bottoms, spread_params(*make(text), bottoms), empty ? 0 : 1e-2);
  }
}

TEST(Rnn, ExposedState) {
  const std::string text = layer("num_output: 3 expose_hidden: true", kState, kFinal);
  const auto made = make(text);
  EXPECT_TRUE(made->differentiable(0));
  EXPECT_FALSE(made->differentiable(1) || made->differentiable(2));
  std::vector<Blob> bottoms = {spread({4, 2, 3}), spread({4, 2}, 0.5f, 1, 3),
                               spread({1, 2, 3}, -1, 1, 10)};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  check_layer(text, bottoms, params, 0);
  const Result whole = run(*made, bottoms, params, {});
  // In two halves, the second from where the first ends.
  const auto half = [](const Blob& blob, bool second) {
    const std::size_t middle = blob.values.size() / 2;
    const auto begin = blob.values.begin() + static_cast<std::ptrdiff_t>(second ? middle : 0);
    return Blob{blob.shape.with(0, blob.shape[0] / 2),
                std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(middle))};
  };
  const Result first =
      run(*made, {half(bottoms[0], false), half(bottoms[1], false), bottoms[2]}, params, {});
  const Result second =
      run(*made, {half(bottoms[0], true), half(bottoms[1], true), first.tops[1]}, params, {});
  expect_near(first.tops[0], half(whole.tops[0], false), 1e-6, "first half");
  expect_near(second.tops[0], half(whole.tops[0], true), 1e-6, "second half");
  expect_near(second.tops[1], whole.tops[1], 1e-6, "final state");
}

TEST(Rnn, Errors) {
  EXPECT_EQ(infer_error(layer("num_output: 2"), {{3, 2, 4}, {3, 1}}),
            "cont (bottom 1) has shape 3x1, but 3x2 (time steps x streams) is needed for the "
            "input's shape 3x2x4");
  EXPECT_EQ(
      infer_error(layer("num_output: 2 expose_hidden: true", "", kFinal), {{3, 2, 4}, {3, 2}}),
      "has 2 bottoms, but with recurrent_param.expose_hidden it takes 3, or 4 with a static "
      "input");
  EXPECT_EQ(infer_error(layer("num_output: 2 expose_hidden: true", kState),
                        {{3, 2, 4}, {3, 2}, {1, 2, 2}}),
            "has 1 tops, but with recurrent_param.expose_hidden it gives 2");
}

}  // namespace
}  // namespace crema::test
