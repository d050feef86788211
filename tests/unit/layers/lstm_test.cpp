#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields, const std::string& more_bottoms = "",
                  const std::string& more_tops = "") {
  return R"(type: "LSTM" bottom: "x" bottom: "cont" )" + more_bottoms + R"(top: "y" )" + more_tops +
         "recurrent_param { " + fields + " }";
}
const std::string kStatic = R"(bottom: "s" )";
const std::string kStates = R"(bottom: "h0" bottom: "c0" )";
const std::string kFinal = R"(top: "h" top: "c" )";

/// A new sequence at some steps.
Blob cont_of(std::int64_t steps, std::int64_t streams, std::uint64_t seed) {
  Blob cont = spread({steps, streams}, 0, 1, seed);
  for (float& value : cont.values) value = value > 0.3f ? 1 : 0;
  return cont;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// h of all steps by the definition, one stream and one unit at a time. `static_input` may be null.
struct Reference {
  std::vector<double> h, c;  ///< the state
  std::vector<float> tops;

  void run(const Blob& x, const Blob& cont, const Blob* static_input,
           const std::vector<Blob>& params, std::int64_t units) {
    const std::int64_t steps = x.shape[0], streams = x.shape[1], inputs = x.shape.count_from(2);
    const Blob& recurrent = params.back();
    h.resize(static_cast<std::size_t>(streams * units));
    c.resize(h.size());
    const auto value = [](const Blob& blob, std::int64_t i) {
      return static_cast<double>(blob.values[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::vector<double> before = h;
      for (std::int64_t n = 0; n < streams; ++n) {
        const double keeps = value(cont, t * streams + n);
        for (std::int64_t u = 0; u < units; ++u) {
          double gates[4];
          for (std::int64_t g = 0; g < 4; ++g) {
            const std::int64_t row = g * units + u;
            double sum = value(params[1], row);
            for (std::int64_t d = 0; d < inputs; ++d) {
              sum += value(params[0], row * inputs + d) * value(x, (t * streams + n) * inputs + d);
            }
            for (std::int64_t v = 0; v < units; ++v) {
              sum += value(recurrent, row * units + v) * keeps *
                     before[static_cast<std::size_t>(n * units + v)];
            }
            const std::int64_t statics =
                static_input == nullptr ? 0 : static_input->shape.count_from(1);
            for (std::int64_t s = 0; s < statics; ++s) {
              sum += value(params[2], row * statics + s) * value(*static_input, n * statics + s);
            }
            gates[g] = sum;
          }
          const auto at = static_cast<std::size_t>(n * units + u);
          c[at] = keeps * logistic(gates[1]) * c[at] + logistic(gates[0]) * std::tanh(gates[3]);
          h[at] = logistic(gates[2]) * std::tanh(c[at]);
        }
      }
      for (const double each : h) tops.push_back(static_cast<float>(each));
    }
  }
};

TEST(Lstm, OneUnitByHand) {
  // All sums 0 but that of g, which is x: i = f = o = 1/2.
  const std::vector<Blob> params = {blob({4, 1}, {0, 0, 0, 1}), blob({4}, {0, 0, 0, 0}),
                                    blob({4, 1}, {0, 0, 0, 0})};
  const Result result =
      run(*make(layer("num_output: 1")), {blob({3, 1, 1}, {1, 2, 3}), blob({3, 1}, {1, 1, 0})},
          params, {blob({3, 1, 1}, {0, 0, 1})});
  const double c1 = std::tanh(1.0) / 2, c2 = c1 / 2 + std::tanh(2.0) / 2, c3 = std::tanh(3.0) / 2;
  expect_near(
      result.tops[0],
      blob({3, 1, 1}, {static_cast<float>(std::tanh(c1) / 2), static_cast<float>(std::tanh(c2) / 2),
                       static_cast<float>(std::tanh(c3) / 2)}),
      1e-6, "h");
  // cont 0 keeps the gradient of step 3 from the steps before.
  const double slope = 0.25 * (1 - std::pow(std::tanh(c3), 2)) * (1 - std::pow(std::tanh(3.0), 2));
  expect_near(result.bottom_gradients[0], blob({3, 1, 1}, {0, 0, static_cast<float>(slope)}), 1e-6,
              "dx");
}

TEST(Lstm, ShapesAndParameters) {
  const auto plain = make(layer("num_output: 3"))->infer({{5, 2, 4, 2}, {5, 2}});
  EXPECT_EQ(plain.tops, (std::vector<Shape>{{5, 2, 3}}));
  ASSERT_EQ(plain.params.size(), 3u);
  EXPECT_EQ(plain.params[0].shape, (Shape{12, 8}));
  EXPECT_EQ(plain.params[1].shape, (Shape{12}));
  EXPECT_EQ(plain.params[2].shape, (Shape{12, 3}));
  EXPECT_EQ(plain.multiply_adds, 10 * 12 * (8 + 3));
  const std::string fields =
      "num_output: 3 expose_hidden: true weight_filler { type: 'xavier' } bias_filler { value: 2 }";
  const auto all = make(layer(fields, kStatic + kStates, kFinal))
                       ->infer({{5, 2, 8}, {5, 2}, {2, 3, 2}, {1, 2, 3}, {1, 2, 3}});
  EXPECT_EQ(all.tops, (std::vector<Shape>{{5, 2, 3}, {1, 2, 3}, {1, 2, 3}}));
  ASSERT_EQ(all.params.size(), 4u);
  EXPECT_EQ(all.params[2].shape, (Shape{12, 6}));
  EXPECT_EQ(all.params[3].shape, (Shape{12, 3}));
  EXPECT_EQ(all.multiply_adds, 10 * 12 * (8 + 3) + 2 * 12 * 6);
  EXPECT_EQ(all.params[1].filler.value(), 2);
  for (const int weights : {0, 2, 3}) {
    EXPECT_EQ(all.params[static_cast<std::size_t>(weights)].filler.type(), "xavier");
  }
}

TEST(Lstm, IsItsDefinition) {
  struct Case {
    std::int64_t steps, streams, inputs, statics, units;
  };
  for (const Case& each : {Case{1, 1, 1, 0, 1}, Case{1, 3, 2, 0, 2}, Case{6, 1, 3, 2, 2},
                           Case{4, 3, 5, 0, 7}, Case{5, 2, 1, 3, 17}, Case{9, 4, 2, 1, 3}}) {
    const auto made =
        make(layer(fmt::format("num_output: {}", each.units), each.statics > 0 ? kStatic : ""));
    std::vector<Blob> bottoms = {spread({each.steps, each.streams, each.inputs}, -2, 2),
                                 cont_of(each.steps, each.streams, 5)};
    if (each.statics > 0) bottoms.push_back(spread({each.streams, each.statics}, -1, 1, 9));
    // Fractions too: they scale what is kept.
    bottoms[1].values[0] = 0.5f;
    const std::vector<Blob> params = spread_params(*made, bottoms);
    Reference reference;
    reference.run(bottoms[0], bottoms[1], each.statics > 0 ? &bottoms[2] : nullptr, params,
                  each.units);
    RunOptions options;
    for (const bool backward : {false, true}) {
      options.backward = backward;
      expect_near(run(*made, bottoms, params, spread_gradients(*made, bottoms), options).tops[0],
                  blob({each.steps, each.streams, each.units}, reference.tops), 1e-5, "h");
    }
  }
}

TEST(Lstm, Gradients) {
  struct Case {
    std::int64_t steps, streams, inputs, statics, units;
  };
  for (const Case& each : {Case{1, 1, 2, 0, 1}, Case{1, 3, 2, 2, 2}, Case{5, 1, 2, 0, 2},
                           Case{4, 2, 3, 2, 3}, Case{3, 3, 2, 0, 5}}) {
    const std::string text =
        layer(fmt::format("num_output: {}", each.units), each.statics > 0 ? kStatic : "");
    std::vector<Blob> bottoms = {spread({each.steps, each.streams, each.inputs}),
                                 cont_of(each.steps, each.streams, 3)};
    if (each.statics > 0) bottoms.push_back(spread({each.streams, each.statics}, -1, 1, 9));
    check_layer(text, bottoms, spread_params(*make(text), bottoms));
    for (float& cont : bottoms[1].values) cont = 0;
    check_layer(text, bottoms, spread_params(*make(text), bottoms));
    for (float& cont : bottoms[1].values) cont = 1;
    check_layer(text, bottoms, spread_params(*make(text), bottoms));
  }
}

TEST(Lstm, GradientsWithExposedStates) {
  // The states' own gradients are none, so that differences are taken of y alone.
  const std::string text = layer("num_output: 3 expose_hidden: true", kStatic + kStates, kFinal);
  const auto made = make(text);
  EXPECT_TRUE(made->differentiable(0) && made->differentiable(2));
  EXPECT_FALSE(made->differentiable(1) || made->differentiable(3) || made->differentiable(4));
  const std::vector<Blob> bottoms = {spread({4, 2, 3}), cont_of(4, 2, 3), spread({2, 2}, -1, 1, 9),
                                     spread({1, 2, 3}, -1, 1, 10), spread({1, 2, 3}, -1, 1, 11)};
  check_layer(text, bottoms, spread_params(*made, bottoms), 0);
  const std::vector<Blob> params = spread_params(*made, bottoms);
  std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  const Result all = run(*made, bottoms, params, gradients);
  const Result alone = run(*made, bottoms, params, {gradients[0]});
  for (std::size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(all.param_gradients[i].values, alone.param_gradients[i].values);
  }
  for (const std::size_t bottom : {0u, 2u}) {
    EXPECT_EQ(all.bottom_gradients[bottom].values, alone.bottom_gradients[bottom].values);
  }
}

TEST(Lstm, ExposedStatesAreWhereItStartsAndEnds) {
  const auto made = make(layer("num_output: 3 expose_hidden: true", kStates, kFinal));
  const std::vector<Blob> bottoms = {spread({4, 2, 3}), cont_of(4, 2, 4),
                                     spread({1, 2, 3}, -1, 1, 10), spread({1, 2, 3}, -1, 1, 11)};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  Reference reference;
  reference.h.assign(bottoms[2].values.begin(), bottoms[2].values.end());
  reference.c.assign(bottoms[3].values.begin(), bottoms[3].values.end());
  reference.run(bottoms[0], bottoms[1], nullptr, params, 3);
  const Result result = run(*made, bottoms, params, spread_gradients(*made, bottoms));
  expect_near(result.tops[0], blob({4, 2, 3}, reference.tops), 1e-5, "y");
  const auto floats = [](const std::vector<double>& values) {
    return blob({1, 2, 3}, std::vector<float>(values.begin(), values.end()));
  };
  expect_near(result.tops[1], floats(reference.h), 1e-5, "h");
  expect_near(result.tops[2], floats(reference.c), 1e-5, "c");
}

TEST(Lstm, NothingToDo) {
  for (const Shape& x : {Shape{0, 2, 3}, Shape{3, 0, 3}, Shape{2, 2, 0}}) {
    const std::string text = layer("num_output: 2");
    const std::vector<Blob> bottoms = {spread(x), cont_of(x[0], x[1], 1)};
    check_layer(text, bottoms, spread_params(*make(text), bottoms), 0);
  }
  // No step: the state passes through.
  const auto made = make(layer("num_output: 2 expose_hidden: true", kStates, kFinal));
  const std::vector<Blob> bottoms = {spread({0, 1, 3}), spread({0, 1}), blob({1, 1, 2}, {1, 2}),
                                     blob({1, 1, 2}, {3, 4})};
  const Result result =
      run(*made, bottoms, spread_params(*made, bottoms), spread_gradients(*made, bottoms));
  EXPECT_THAT(result.tops[1].values, testing::ElementsAre(1, 2));
  EXPECT_THAT(result.tops[2].values, testing::ElementsAre(3, 4));
}

TEST(Lstm, EachGradientByItself) {
  const auto made = make(layer("num_output: 3", kStatic));
  const std::vector<Blob> bottoms = {spread({4, 2, 3}), cont_of(4, 2, 3), spread({2, 2}, -1, 1, 9)};
  const std::vector<Blob> params = spread_params(*made, bottoms);
  const std::vector<Blob> gradients = spread_gradients(*made, bottoms);
  const Result all = run(*made, bottoms, params, gradients);
  for (std::size_t i = 0; i < 6; ++i) {
    RunOptions options;
    options.bottom_gradients = {i == 4, 0, i == 5};
    options.param_gradients = {i == 0, i == 1, i == 2, i == 3};
    const Result one = run(*made, bottoms, params, gradients, options);
    if (i < 4) {
      EXPECT_EQ(one.param_gradients[i].values, all.param_gradients[i].values);
    } else {
      const std::size_t bottom = i == 4 ? 0 : 2;
      EXPECT_EQ(one.bottom_gradients[bottom].values, all.bottom_gradients[bottom].values);
    }
  }
}

TEST(Lstm, NanStays) {
  const auto made = make(layer("num_output: 2"));
  const std::vector<Blob> bottoms = {blob({2, 1, 1}, {NAN, 1}), blob({2, 1}, {1, 1})};
  const Result result =
      run(*made, bottoms, spread_params(*made, bottoms), spread_gradients(*made, bottoms));
  EXPECT_THAT(result.tops[0].values, testing::Each(testing::IsNan()));
}

TEST(Lstm, Errors) {
  EXPECT_EQ(infer_error(layer(""), {{3, 2, 4}, {3, 2}}),
            "recurrent_param.num_output is missing: the number of outputs must be given");
  EXPECT_EQ(infer_error(layer("num_output: 0"), {{3, 2, 4}, {3, 2}}),
            "recurrent_param.num_output is 0, it must be at least 1");
  const std::string good = layer("num_output: 2");
  EXPECT_EQ(infer_error(good, {{3, 2}, {3, 2}}),
            "the input must have at least 3 axes (time steps x streams x ...), but its shape is "
            "3x2");
  for (const auto& cont : {Shape{3, 1}, Shape{2, 2}, Shape{3, 2, 1}, Shape{6}}) {
    EXPECT_EQ(infer_error(good, {{3, 2, 4}, cont}),
              "cont (bottom 1) has shape " + cont.str() +
                  ", but 3x2 (time steps x streams) is needed for the input's shape 3x2x4");
  }
  EXPECT_EQ(infer_error(layer("num_output: 2", kStatic), {{3, 2, 4}, {3, 2}, {3, 5}}),
            "the static input (bottom 2) has shape 3x5, but must have 2 (streams) and at least one "
            "more axis for the input's shape 3x2x4");
  EXPECT_EQ(infer_error(layer("num_output: 2", kStates), {{3, 2, 4}, {3, 2}, {1, 2, 2}, {1, 2, 2}}),
            "has 4 bottoms, but without recurrent_param.expose_hidden it takes 2, or 3 with a "
            "static input");
  EXPECT_EQ(infer_error(layer("num_output: 2", "", kFinal), {{3, 2, 4}, {3, 2}}),
            "has 3 tops, but without recurrent_param.expose_hidden it gives 1");
  const std::string exposed = "num_output: 2 expose_hidden: true";
  EXPECT_EQ(infer_error(layer(exposed, "", kFinal), {{3, 2, 4}, {3, 2}}),
            "has 2 bottoms, but with recurrent_param.expose_hidden it takes 4, or 5 with a static "
            "input");
  EXPECT_EQ(infer_error(layer(exposed, kStates), {{3, 2, 4}, {3, 2}, {1, 2, 2}, {1, 2, 2}}),
            "has 1 tops, but with recurrent_param.expose_hidden it gives 3");
  EXPECT_EQ(infer_error(layer(exposed, kStates, kFinal), {{3, 2, 4}, {3, 2}, {1, 2, 2}, {1, 2, 3}}),
            "the initial state (bottom 3) has shape 1x2x3, but 1x2x2 is needed");
  EXPECT_EQ(
      infer_error(layer("num_output: 2 weight_filler { type: 'xavire' }"), {{3, 2, 4}, {3, 2}}),
      "recurrent_param.weight_filler: unknown filler type \"xavire\"; did you mean "
      "\"xavier\"?");
  EXPECT_EQ(infer_error(layer("num_output: 16777216"), {{1, 1 << 20, 1}, {1, 1 << 20}}),
            "the layer is too large: a pass takes more than 72057594037927936 multiply-adds");
  EXPECT_EQ(infer_error(layer("num_output: 4294967295"), {{0, 1ll << 31, 1}, {0, 1ll << 31}}),
            "a blob of shape 1x2147483648x17179869180 is too large");
}

}  // namespace
}  // namespace crema::test
