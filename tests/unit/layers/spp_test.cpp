#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return R"(type: "SPP" bottom: "x" top: "y" spp_param { )" + fields + " }";
}

TEST(Spp, ByHand) {
  const Blob image = blob({1, 1, 2, 2}, {1, 4, 3, 2});
  Result result =
      run(*make(layer("pyramid_height: 2")), {image}, {}, {blob({1, 5}, {10, 1, 2, 3, 4})});
  EXPECT_EQ(result.tops[0].shape, Shape({1, 5}));
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(4, 1, 4, 3, 2));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, 12, 3, 4));
  result = run(*make(layer("pyramid_height: 2 pool: AVE")), {image}, {},
               {blob({1, 5}, {4, 1, 2, 3, 4})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(2.5f, 1, 4, 3, 2));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(2, 3, 4, 5));
}

TEST(Spp, Shapes) {
  const auto top = [](const std::string& fields, Shape bottom) {
    return make(layer(fields))->infer({bottom}).tops[0];
  };
  EXPECT_EQ(top("pyramid_height: 1", {2, 3, 5, 4}), Shape({2, 3, 1, 1}));
  EXPECT_EQ(top("pyramid_height: 2", {2, 3, 5, 4}), Shape({2, 15}));
  EXPECT_EQ(top("pyramid_height: 3", {2, 3, 8, 12}), Shape({2, 63}));
}

TEST(Spp, Grid) {
  for (const char* pool : {"MAX", "AVE"}) {
    for (const int height : {1, 2, 3}) {
      const std::string text =
          layer("pyramid_height: " + std::to_string(height) + " pool: " + pool);
      check_layer(text, {spread({2, 3, 8, 7})}, {}, 2e-3, 5e-3);
      check_layer(text, {spread({1, 2, 4, 11})}, {}, 2e-3, 5e-3);
    }
  }
}

TEST(Spp, EmptyBatch) {
  const Result result =
      run(*make(layer("pyramid_height: 2")), {blob({0, 2, 4, 4}, {})}, {}, {blob({0, 10}, {})});
  EXPECT_EQ(result.tops[0].shape, Shape({0, 10}));
}

TEST(Spp, Errors) {
  const auto error = [](const std::string& fields) {
    return infer_error(layer(fields), {{2, 3, 5, 4}});
  };
  EXPECT_EQ(error(""), "spp_param.pyramid_height is missing");
  EXPECT_EQ(error("pyramid_height: 0"), "spp_param.pyramid_height is 0, it must be at least 1");
  EXPECT_EQ(error("pyramid_height: 40"),
            "spp_param.pyramid_height 40 is too large: level 39 would have 2^39 bins each way");
  EXPECT_EQ(error("pyramid_height: 1 pool: STOCHASTIC"),
            "spp_param.pool: STOCHASTIC is not supported; there are MAX and AVE");
  EXPECT_EQ(error("pyramid_height: 4"),
            "the height 5 is too small for 4 bins each way (spp_param.pyramid_height): the windows "
            "of size 2 would need padding 2");
  EXPECT_EQ(infer_error(layer("pyramid_height: 1"), {{2, 3, 5}}),
            "the bottom must have 4 axes (N x C x H x W), not 3 (2x3x5)");
}

}  // namespace
}  // namespace crema::test
