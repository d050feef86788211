// Layers with bottoms that get no gradient, and a parameter that is a blob, in whole nets.
#include <gmock/gmock.h>

#include "base/error.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

NetOptions exposed() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  options.keep_all = true;
  options.expose_gradients = true;
  return options;
}

const std::string kIndices = "force_backward: true\n" + input_layer("data", "3x4") +
                             input_layer("index", "2") + input_layer("word", "2") + R"(
layer { name: "best" type: "ArgMax" bottom: "data" top: "best" }
layer { name: "chosen" type: "BatchReindex" bottom: "data" bottom: "index" top: "chosen" }
layer { name: "row" type: "Embed" bottom: "word" top: "row"
  embed_param { input_dim: 5 num_output: 4 weight_filler { value: 1 } } }
layer { name: "product" type: "Eltwise" bottom: "chosen" bottom: "row" top: "product"
  eltwise_param { operation: PROD } }
layer { name: "sum" type: "Reduction" bottom: "product" top: "sum" loss_weight: 2 }
)";

/// Caffe aborts in the backward pass of such a net.
TEST(IndicesTest, ForceBackwardAsksNothingOfLayersWithoutGradient) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kIndices), *device, exposed());
  net.write_blob("data", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  net.write_blob("index", {2, 2});
  net.write_blob("word", {0, 4});
  EXPECT_EQ(net.forward(), 2 * 2 * (9 + 10 + 11 + 12));
  EXPECT_THAT(net.read_blob("best"), ElementsAre(3, 3, 3));
  net.backward();
  EXPECT_THAT(net.read_gradient("data"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4));
  EXPECT_THAT(net.read_param_gradient("row", 1), ElementsAre(36, 40, 44, 48));
}

TEST(IndicesTest, OnesOutOfRangeNameTheLayer) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kIndices), *device, exposed());
  net.write_blob("index", {2, 3});
  try {
    net.forward();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("net.prototxt"));
    EXPECT_THAT(error.what(), HasSubstr("layer \"chosen\" (BatchReindex): index 3 of item 1 in "
                                        "bottom 1 names no item of bottom 0, which has 3"));
  }
}

TEST(ParameterBlobTest, GradientsAddUpUntilTheyAreCleared) {
  const auto device = make_cpu_device(1);
  const std::string text = input_layer("x", "2") + R"(
layer { name: "p" type: "Parameter" top: "p" parameter_param { shape { dim: 2 } } }
layer { name: "y" type: "Eltwise" bottom: "x" bottom: "p" top: "y" eltwise_param { operation: PROD } }
layer { name: "sum" type: "Reduction" bottom: "y" top: "sum" loss_weight: 1 }
)";
  Net net(net_of(text), *device, exposed());
  net.write_param("p", 0, {5, 7});
  net.clear_gradients();
  net.write_blob("x", {1, 2});
  EXPECT_EQ(net.forward(), 19);
  net.backward();
  EXPECT_THAT(net.read_param_gradient("p", 0), ElementsAre(1, 2));
  net.write_blob("x", {10, 20});
  net.forward();
  net.backward();
  EXPECT_THAT(net.read_param_gradient("p", 0), ElementsAre(11, 22));
  net.clear_gradients();
  net.forward();
  net.backward();
  EXPECT_THAT(net.read_param_gradient("p", 0), ElementsAre(10, 20));
}

}  // namespace
}  // namespace crema
