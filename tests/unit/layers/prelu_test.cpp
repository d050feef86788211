#include "op_harness.h"

#include <cmath>
#include <limits>

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "") {
  return "type: 'PReLU' bottom: 'x' top: 'y' prelu_param { " + fields + " }";
}

void check(const std::string& text, const Shape& shape, double h = 1e-3) {
  const std::vector<Blob> x = {spread(shape, -2, 2)};
  check_layer(text, x, spread_params(*make(text), x), h);
}

TEST(Prelu, ValuesByHand) {
  const Result result = run(*make(layer()), {blob({2, 2, 2}, {-1, 2, -3, 0, 5, -6, 7, -8})},
                            {blob({2}, {0.5f, -2})}, {blob({2, 2, 2}, {1, 1, 2, 3, 1, 4, 1, 5})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(-0.5f, 2, 6, 0, 5, -3, 7, 16));
  // At 0 it has the slope of the negative side.
  EXPECT_THAT(result.bottom_gradients[0].values,
              testing::ElementsAre(0.5f, 1, -4, -6, 1, 2, 1, -10));
  EXPECT_THAT(result.param_gradients[0].values, testing::ElementsAre(-1 - 24, -6 - 40));
}

TEST(Prelu, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Result result =
      run(*make(layer()), {blob({1, 1}, {nan})}, {blob({1}, {0.5f})}, {blob({1, 1}, {1})});
  EXPECT_TRUE(std::isnan(result.tops[0].values[0]));
  EXPECT_TRUE(std::isnan(result.param_gradients[0].values[0]));
}

TEST(Prelu, Grid) {
  for (const char* fields : {"", "channel_shared: true"}) {
    for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 4, 5}, Shape{2, 9, 3}, Shape{4, 1, 3, 3},
                               Shape{2, 2, 1, 2, 1, 3}}) {
      check(layer(fields), shape);
    }
    check(layer(fields), {8, 64, 20, 20}, 0);
    check(layer(fields), {0, 3, 2}, 0);
    check(layer(fields), {2, 3, 0}, 0);
    EXPECT_EQ(layout_count(*make(layer(fields)), {spread({2, 3, 4, 5})}), 2);
  }
}

TEST(Prelu, Parameters) {
  const Inference plain = make(layer())->infer({{2, 3, 4}});
  EXPECT_EQ(plain.params[0].shape, Shape{3});
  EXPECT_EQ(plain.params[0].filler.value(), 0.25f);
  const Inference shared =
      make(layer("channel_shared: true filler { value: 0.5 }"))->infer({{2, 3, 4}});
  EXPECT_EQ(shared.params[0].shape, Shape{});
  EXPECT_EQ(shared.params[0].filler.value(), 0.5f);
  EXPECT_TRUE(make(layer())->backward_reads_bottom(0));
}

TEST(Prelu, Errors) {
  EXPECT_EQ(infer_error(layer(), {{4}}),
            "the bottom must have at least 2 axes (axis 1 holds the channels), not 1 (4)");
  EXPECT_THAT(infer_error(layer("filler { type: 'none' }"), {{4, 2}}),
              testing::StartsWith("prelu_param.filler: "));
}

}  // namespace
}  // namespace crema::test
