#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return "type: 'Parameter' top: 'p' parameter_param { " + fields + " }";
}

TEST(Parameter, TheTopIsTheParameterAndItsGradientThatOfTheTop) {
  const Blob p = blob({2, 1}, {3, 4}), dy = blob({2, 1}, {5, 6});
  const auto made = make(layer("shape { dim: 2 dim: 1 }"));
  const Result result = run(*made, {}, {p}, {dy});
  EXPECT_EQ(result.tops[0].values, p.values);
  EXPECT_EQ(result.param_gradients[0].values, dy.values);
  RunOptions options;
  options.accumulate_on = {blob({2, 1}, {10, 20})};
  EXPECT_THAT(run(*made, {}, {p}, {dy}, options).param_gradients[0].values,
              testing::ElementsAre(15, 26));
}

TEST(Parameter, Grid) {
  for (const char* fields : {"shape { dim: 2 dim: 3 }", "shape { dim: 0 }", "shape { }", ""}) {
    const std::string text = layer(fields);
    check_layer(text, {}, spread_params(*make(text), {}));
  }
}

TEST(Parameter, StartsAtZero) {
  const Inference inference = make(layer("shape { dim: 2 }"))->infer({});
  EXPECT_EQ(inference.params[0].filler.type(), "constant");
  EXPECT_EQ(inference.params[0].filler.value(), 0);
}

TEST(Parameter, Errors) { EXPECT_NE(infer_error(layer("shape { dim: -1 }"), {}), ""); }

}  // namespace
}  // namespace crema::test
