#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

std::string layer(const std::string& fields) {
  return "type: 'Tile' bottom: 'x' top: 'y' tile_param { " + fields + " }";
}

TEST(Tile, ByHand) {
  const Result result = run(*make(layer("tiles: 2")), {blob({2, 2, 1}, {1, 2, 3, 4})}, {},
                            {blob({2, 4, 1}, {1, 2, 30, 40, 5, 6, 70, 80})});
  EXPECT_EQ(result.tops[0].shape, Shape({2, 4, 1}));
  EXPECT_THAT(result.tops[0].values, ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(31, 42, 75, 86));
}

TEST(Tile, Grid) {
  for (const int axis : {0, 1, 2, -1}) {
    for (const int tiles : {1, 2, 5}) {
      check_layer(layer(fmt::format("axis: {} tiles: {}", axis, tiles)), {spread({2, 3, 4, 2})},
                  {});
    }
  }
  check_layer(layer("tiles: 3"), {spread({4, 1})}, {});
  check_layer(layer("tiles: 3"), {spread({0, 2, 3})}, {});
  check_layer(layer("tiles: 3"), {spread({2, 0, 3})}, {});
  check_layer(layer("tiles: 7"), {spread({3, 37, 17, 5})}, {}, 0);
  check_layer(layer("axis: 3 tiles: 40"), {spread({30, 20, 10, 1})}, {}, 0);
}

TEST(Tile, Errors) {
  EXPECT_EQ(infer_error(layer(""), {{2, 3}}),
            "tile_param.tiles is missing: say how often to repeat");
  EXPECT_EQ(infer_error(layer("tiles: 0"), {{2, 3}}), "tile_param.tiles 0 must be at least 1");
  EXPECT_EQ(infer_error(layer("tiles: -2"), {{2, 3}}), "tile_param.tiles -2 must be at least 1");
  EXPECT_EQ(infer_error(layer("tiles: 2 axis: 2"), {{2, 3}}),
            "tile_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
  EXPECT_NE(infer_error(layer("tiles: 2147483647"), {{2, std::int64_t{1} << 40}}), "");
}

}  // namespace
}  // namespace crema::test
