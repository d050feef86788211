#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string layer(const std::vector<int>& order) {
  std::string text = "type: 'Permute' bottom: 'x' top: 'y' permute_param { ";
  for (const int axis : order) text += fmt::format("order: {} ", axis);
  return text + "}";
}

TEST(Permute, ByHand) {
  const Result result = run(*make(layer({0, 2, 1})), {blob({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, {},
                            {blob({1, 3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(result.tops[0].shape, Shape({1, 3, 2}));
  EXPECT_THAT(result.tops[0].values, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(Permute, AxesThatAreLeftOutFollow) {
  EXPECT_EQ(make(layer({2}))->infer({{2, 3, 4, 5}}).tops[0], Shape({4, 2, 3, 5}));
  EXPECT_EQ(make(layer({3, 1}))->infer({{2, 3, 4, 5}}).tops[0], Shape({5, 3, 2, 4}));
  EXPECT_EQ(make(layer({}))->infer({{2, 3}}).tops[0], Shape({2, 3}));
}

TEST(Permute, Grid) {
  check_layer(layer({0, 2, 3, 1}), {spread({2, 3, 4, 5})}, {});
  check_layer(layer({0, 3, 1, 2}), {spread({2, 3, 4, 5})}, {});
  check_layer(layer({3, 2, 1, 0}), {spread({2, 3, 4, 5})}, {});
  check_layer(layer({1}), {spread({2, 3, 2, 2})}, {});
  check_layer(layer({4, 0, 2}), {spread({2, 3, 2, 2, 3})}, {});
  check_layer(layer({1, 0}), {spread({3, 2})}, {});
  check_layer(layer({0, 2, 3, 1}), {spread({0, 3, 4, 5})}, {});
  check_layer(layer({0, 2, 3, 1}), {spread({2, 1, 4, 5})}, {});
  check_layer(layer({0, 1}), {spread({2, 3, 4, 5})}, {});
  check_layer(layer({5, 6, 0, 1, 4, 3, 2}), {spread({2, 1, 2, 3, 1, 2, 2})}, {});
  check_layer(layer({0, 2, 3, 1}), {spread({2, 24, 19, 19})}, {}, 0);
}

TEST(Permute, ChannelsLastToPlainIsTheCheapest) {
  const auto device = make_cpu_device(1);
  const auto choices =
      make(layer({0, 2, 3, 1}))->layouts({*device, {{2, 8, 5, 6}}, {{2, 5, 6, 8}}, {}, {1}, {}});
  const auto best = std::min_element(choices.begin(), choices.end(),
                                     [](const auto& a, const auto& b) { return a.cost < b.cost; });
  EXPECT_FALSE(best->bottoms[0].is_plain());
  EXPECT_TRUE(best->tops[0].is_plain());
}

TEST(Permute, NothingMovedIsAView) {
  EXPECT_TRUE(make(layer({0, 1}))->is_view(0));
  EXPECT_TRUE(make(layer({}))->is_gradient_view());
  EXPECT_FALSE(make(layer({1}))->is_view(0));
}

TEST(Permute, Errors) {
  EXPECT_EQ(infer_error(layer({0, 2, 0}), {{2, 3, 4}}), "permute_param.order names axis 0 twice");
  EXPECT_EQ(infer_error(layer({0, 3}), {{2, 3, 4}}),
            "permute_param.order: axis 3 does not exist in a blob of 3 axes (2x3x4)");
  EXPECT_EQ(infer_error("type: 'Permute' bottom: 'x' top: 'x'", {{2, 3}}),
            "the top must have another name than the bottom: Permute does not work in place");
}

}  // namespace
}  // namespace crema::test
