// Embed and BatchReindex: rows that indices choose.
#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string embed(const std::string& fields) {
  return "type: 'Embed' bottom: 'x' top: 'y' embed_param { " + fields + " }";
}
const char* const kReindex = "type: 'BatchReindex' bottom: 'x' bottom: 'i' top: 'y'";

std::string forward_error(const std::string& text, const std::vector<Blob>& bottoms,
                          const std::vector<Blob>& params) {
  RunOptions options;
  options.backward = false;
  options.describe_item = [](int item) { return item == 1 ? "record \"7\"" : ""; };
  return error_of([&] { run(*make(text), bottoms, params, {}, options); });
}

TEST(Embed, ByHand) {
  const std::vector<Blob> params = {blob({3, 2}, {1, 2, 3, 4, 5, 6}), blob({2}, {10, 20})};
  const Result result =
      run(*make(embed("input_dim: 3 num_output: 2")), {blob({2, 2}, {2, 0.9f, 2, -0.5f})}, params,
          {blob({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(result.tops[0].shape, Shape({2, 2, 2}));
  EXPECT_THAT(result.tops[0].values, ElementsAre(15, 26, 11, 22, 15, 26, 11, 22));
  EXPECT_THAT(result.param_gradients[0].values, ElementsAre(10, 12, 0, 0, 6, 8));
  EXPECT_THAT(result.param_gradients[1].values, ElementsAre(16, 20));
}

TEST(Embed, Grid) {
  const Blob x = blob({2, 3}, {0, 4, 2, 2, 4, 4});
  for (const char* bias : {"true", "false"}) {
    for (const int outputs : {1, 3, 70}) {
      const std::string text =
          embed(fmt::format("input_dim: 5 num_output: {} bias_term: {}", outputs, bias));
      check_layer(text, {x}, spread_params(*make(text), {x}));
      const Blob none = blob({0}, {});
      check_layer(text, {none}, spread_params(*make(text), {none}));
      const Blob scalar = blob({}, {3});
      check_layer(text, {scalar}, spread_params(*make(text), {scalar}));
    }
  }
  EXPECT_FALSE(make(embed("input_dim: 5 num_output: 3"))->differentiable(0));
}

TEST(Embed, Errors) {
  EXPECT_EQ(infer_error(embed("input_dim: 3"), {{2}}),
            "embed_param.num_output is missing: the number of outputs must be given");
  EXPECT_EQ(infer_error(embed("input_dim: 3 num_output: 0"), {{2}}),
            "embed_param.num_output is 0, it must be at least 1");
  for (const char* fields : {"num_output: 3", "num_output: 3 input_dim: 0"}) {
    EXPECT_EQ(infer_error(embed(fields), {{2}}),
              "embed_param.input_dim must be at least 1: the number of values that the input may "
              "have");
  }
  const std::string text = embed("input_dim: 3 num_output: 1 bias_term: false");
  const std::vector<Blob> params = {blob({3, 1}, {1, 2, 3})};
  EXPECT_EQ(forward_error(text, {blob({2, 2}, {0, 1, 2, 3})}, params),
            "input 3 of item 1, position 1 (record \"7\") is not in 0..2 (embed_param.input_dim is "
            "3)");
  EXPECT_EQ(forward_error(text, {blob({2}, {-1, 0})}, params),
            "input -1 of item 0 is not in 0..2 (embed_param.input_dim is 3)");
  EXPECT_EQ(forward_error(text, {blob({2}, {0, std::nanf("")})}, params),
            "input nan of item 1 (record \"7\") is not in 0..2 (embed_param.input_dim is 3)");
}

TEST(BatchReindex, ByHand) {
  const Result result =
      run(*make(kReindex), {blob({3, 2}, {1, 2, 3, 4, 5, 6}), blob({4}, {2, 0, 2.9f, 0})}, {},
          {blob({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_THAT(result.tops[0].values, ElementsAre(5, 6, 1, 2, 5, 6, 1, 2));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(10, 12, 0, 0, 6, 8));
}

TEST(BatchReindex, Grid) {
  check_layer(kReindex, {spread({3, 2, 4, 2}), blob({5}, {2, 0, 0, 1, 2})}, {});
  check_layer(kReindex, {spread({3}), blob({2}, {1, 1})}, {});
  check_layer(kReindex, {spread({3, 2, 2}), blob({0}, {})}, {});
  check_layer(kReindex, {spread({0, 2, 2}), blob({0}, {})}, {});
  check_layer(kReindex, {spread({3, 0, 2}), blob({2}, {0, 1})}, {});
  check_layer(kReindex, {spread({4, 30, 25, 11}), blob({6}, {3, 1, 1, 1, 0, 3})}, {}, 0);
  EXPECT_FALSE(make(kReindex)->differentiable(1));
}

TEST(BatchReindex, Errors) {
  EXPECT_EQ(infer_error(kReindex, {{3, 2}, {2, 1}}),
            "bottom 1 must be a list of indices with 1 axis, but is 2x1");
  EXPECT_EQ(infer_error(kReindex, {Shape{}, {2}}),
            "bottom 0 is a scalar; it needs items along axis 0");
  EXPECT_EQ(forward_error(kReindex, {spread({3, 2}), blob({3}, {0, 3, 1})}, {}),
            "index 3 of item 1 (record \"7\") in bottom 1 names no item of bottom 0, which has 3 "
            "(0 is the first)");
  EXPECT_EQ(forward_error(kReindex, {spread({0, 2}), blob({1}, {0})}, {}),
            "index 0 of item 0 in bottom 1 names no item of bottom 0, which has 0 (0 is the "
            "first)");
}

}  // namespace
}  // namespace crema::test
