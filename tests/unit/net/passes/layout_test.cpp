#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support.h"
#include "net/executor.h"
#include "net/param_store.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> reorders(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.is_reorder) names.push_back(node.name());
  }
  return names;
}

Graph planned(const std::string& text, bool backward = true) {
  const auto device = make_cpu_device(1);
  Graph graph = inferred(text);
  plan_graph(graph, *device, backward, {});
  return graph;
}

Graph planned_model(const std::string& path, const Shape& data, caffe::Phase phase) {
  const auto device = make_cpu_device(1);
  return compile(read_net(model(path)), state_of(phase), *device, phase == caffe::TRAIN,
                 {{"data", data}});
}

std::string conv(const std::string& name, const std::string& bottom, int outputs, int kernel,
                 const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"Convolution\" bottom: \"" + bottom + "\" top: \"" +
         name + "\" convolution_param { num_output: " + std::to_string(outputs) +
         " kernel_size: " + std::to_string(kernel) + " } " + more + " }\n";
}
std::string ip(const std::string& name, const std::string& bottom, const std::string& more) {
  return "layer { name: \"" + name + "\" type: \"InnerProduct\" bottom: \"" + bottom +
         "\" top: \"" + name + "\" inner_product_param { num_output: 16 } " + more + " }\n";
}

// One channel in, so that plain and channels-last are the same; the inner product takes its input
// channels-last.
TEST(LayoutTest, LeNetNeedsNoReorder) {
  for (const auto phase : {caffe::TRAIN, caffe::TEST}) {
    const Graph graph = planned_model("lenet/train_val.prototxt", {64, 1, 28, 28}, phase);
    EXPECT_THAT(reorders(graph), IsEmpty());
    EXPECT_TRUE(is_channels_last(value_of(graph, "pool2").layout));
    EXPECT_EQ(graph.params[static_cast<std::size_t>(node_of(graph, "ip1").params[0])].layout.name(),
              "channels-last weights");
  }
}

TEST(LayoutTest, ImagesOfThreeChannelsAreReorderedOnce) {
  for (const auto phase : {caffe::TRAIN, caffe::TEST}) {
    EXPECT_THAT(
        reorders(planned_model("cifar10_quick/train_val.prototxt", {100, 3, 32, 32}, phase)),
        ElementsAre("data (plain to channels-last)"));
    EXPECT_THAT(reorders(planned_model("caffenet/train_val.prototxt", {4, 3, 227, 227}, phase)),
                ElementsAre("data (plain to channels-last)"));
    EXPECT_THAT(reorders(planned_model("alexnet/train_val.prototxt", {4, 3, 227, 227}, phase)),
                ElementsAre("data (plain to channels-last)"));
  }
}

TEST(LayoutTest, AChainOfImageLayersStaysChannelsLast) {
  const Graph graph = planned(
      input_layer("data", "8x1x32x32") + conv("c", "data", 16, 3) +
      "layer { name: \"r\" type: \"ReLU\" bottom: \"c\" top: \"c\" }"
      "layer { name: \"p\" type: \"Pooling\" bottom: \"c\" top: \"p\" pooling_param { kernel_size: "
      "2 stride: 2 } }"
      "layer { name: \"n\" type: \"LRN\" bottom: \"p\" top: \"n\" }"
      "layer { name: \"d\" type: \"Dropout\" bottom: \"n\" top: \"n\" }" +
      conv("e", "n", 16, 3));
  EXPECT_THAT(reorders(graph), IsEmpty());
  for (const char* blob : {"c", "p", "n", "e"}) {
    EXPECT_TRUE(is_channels_last(value_of(graph, blob).layout)) << blob;
  }
}

TEST(LayoutTest, BranchesMeetChannelsLast) {
  const Graph graph =
      planned(input_layer("data", "8x1x32x32") + conv("a", "data", 16, 3) + conv("b", "a", 16, 1) +
              conv("c", "a", 24, 1) +
              "layer { name: \"cat\" type: \"Concat\" bottom: \"b\" bottom: \"c\" top: \"cat\" }" +
              conv("d", "cat", 16, 3));
  EXPECT_THAT(reorders(graph), IsEmpty());
  EXPECT_TRUE(is_channels_last(value_of(graph, "cat").layout));
}

// What comes before a layer whose tops depend on data keeps its layouts.
TEST(LayoutTest, AllIsPlainFromALayerOnWhoseTopsDependOnData) {
  const std::string filter =
      "layer { name: \"f\" type: \"Filter\" bottom: \"a\" bottom: \"s\" top: \"f\" }";
  const auto shared = [](const char* name) {
    return std::string("param { name: \"") + name + "\" } param { lr_mult: 1 }";
  };
  Graph graph = planned(input_layer("data", "8x1x32x32") + input_layer("s", "8") +
                        conv("a", "data", 16, 3) + filter + conv("b", "f", 16, 3));
  EXPECT_THAT(reorders(graph), ElementsAre("a (channels-last to plain)"));
  EXPECT_TRUE(is_channels_last(value_of(graph, "a").layout));
  EXPECT_TRUE(value_of(graph, "b").layout.is_plain());
  // Weights that are used on both sides are plain, as the later user wants them.
  graph =
      planned(input_layer("data", "8x16x8x8") + input_layer("s", "8") +
              conv("a", "data", 16, 1, shared("w")) + filter + conv("b", "f", 16, 1, shared("w")));
  for (const ParamNode& param : graph.params) EXPECT_TRUE(param.layout.is_plain());
}

TEST(LayoutTest, ALayerThatTakesPlainOnlyGetsAReorder) {
  const Graph graph = planned(input_layer("data", "8x1x32x32") + conv("a", "data", 16, 3) +
                                  "layer { name: \"n\" type: \"LRN\" bottom: \"a\" top: \"n\" "
                                  "lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 } }",
                              false);
  // A convolution of one channel could have been plain too, but is slower so.
  EXPECT_THAT(reorders(graph), ElementsAre("a (channels-last to plain)"));
  const Node& reorder = graph.nodes[2];
  ASSERT_TRUE(reorder.is_reorder);
  EXPECT_EQ(reorder.bottoms[0], graph.blobs.at("a"));
  EXPECT_EQ(node_of(graph, "n").bottoms[0], reorder.tops[0]);
  EXPECT_FALSE(reorder.backward);
}

TEST(LayoutTest, AReorderPassesTheGradientThatIsWanted) {
  const Graph graph =
      planned(input_layer("data", "8x1x32x32") + conv("a", "data", 16, 3) +
              "layer { name: \"n\" type: \"LRN\" bottom: \"a\" top: \"n\" loss_weight: 1 "
              "lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 } }");
  const Node& reorder = graph.nodes[2];
  ASSERT_TRUE(reorder.is_reorder);
  EXPECT_TRUE(reorder.backward);
  EXPECT_EQ(reorder.bottom_gradients, std::vector<char>{1});
  EXPECT_TRUE(graph.values[static_cast<std::size_t>(reorder.tops[0])].gradient);
  EXPECT_TRUE(value_of(graph, "a").gradient);
}

TEST(LayoutTest, OwnersOfParametersMoveWithTheirNodes) {
  const Graph graph =
      planned(input_layer("data", "2x3x32x32") + conv("a", "data", 16, 3) + conv("b", "a", 16, 3));
  ASSERT_EQ(reorders(graph).size(), 1u);
  for (const ParamNode& param : graph.params) {
    const Node& owner = graph.nodes[static_cast<std::size_t>(param.owner)];
    EXPECT_EQ(
        &graph
             .params[static_cast<std::size_t>(owner.params[static_cast<std::size_t>(param.index)])],
        &param);
  }
}

TEST(LayoutTest, LayoutsThatAreGivenStay) {
  const auto device = make_cpu_device(1);
  const std::string text = input_layer("data", "2x1x32x32") + conv("a", "data", 16, 3);
  Graph free = inferred(text);
  plan_graph(free, *device, true, {});
  ASSERT_FALSE(free.params[0].layout.is_plain());
  Graph fixed = inferred(text);
  plan_graph(fixed, *device, true, {{0, Layout()}});
  EXPECT_TRUE(fixed.params[0].layout.is_plain());
}

/// Every inner product must find its weights in the order of its input.
void expect_products_fit(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.type() != "InnerProduct") continue;
    const Value& bottom = graph.values[static_cast<std::size_t>(node.bottoms[0])];
    const Layout wanted =
        bottom.layout.is_plain() ? Layout() : channels_last_weights(16, bottom.shape);
    EXPECT_EQ(graph.params[static_cast<std::size_t>(node.params[0])].layout, wanted)
        << node.name() << " on " << bottom.layout.name();
  }
}

TEST(LayoutTest, TwinsShareTheirWeightsInOneLayout) {
  const std::string shared = "param { name: \"cw\" } param { name: \"cb\" }";
  const std::string product = "param { name: \"w\" } param { name: \"b\" }";
  const Graph graph = planned(input_layer("x", "2x1x8x8") + input_layer("y", "2x1x8x8") +
                              conv("a", "x", 8, 3, shared) + conv("b", "y", 8, 3, shared) +
                              ip("p", "a", product) + ip("q", "b", product));
  EXPECT_THAT(reorders(graph), IsEmpty());
  expect_products_fit(graph);
}

// One product sees an image of several channels, the other a vector: no order of the weights but
// the plain one suits both.
TEST(LayoutTest, ProductsOfDifferentInputsShareTheirWeightsInPlainOrder) {
  const std::string product = "param { name: \"w\" } param { name: \"b\" }";
  const std::string inputs =
      input_layer("x", "64x1x8x8") + input_layer("y", "64x288") + conv("a", "x", 8, 3);
  expect_products_fit(planned(inputs + ip("p", "a", product) + ip("q", "y", product)));
  expect_products_fit(planned(inputs + ip("q", "y", product) + ip("p", "a", product)));
}

TEST(LayoutTest, ProductsOfDifferentImagesShareTheirWeightsInPlainOrder) {
  const std::string product = "param { name: \"w\" } param { name: \"b\" }";
  const std::string inputs = input_layer("x", "64x1x8x8") + input_layer("y", "64x1x14x4") +
                             conv("a", "x", 8, 3) + conv("b", "y", 12, 3);
  expect_products_fit(planned(inputs + ip("p", "a", product) + ip("q", "b", product)));
}

// What a test net meets that shares with a train net.
TEST(LayoutTest, AnInnerProductFollowsTheLayoutThatItsWeightsHave) {
  const auto device = make_cpu_device(1);
  const std::string text = input_layer("x", "64x1x8x8") + conv("a", "x", 8, 3) + ip("p", "a", "");
  for (const bool plain : {true, false}) {
    Graph graph = inferred(text);
    const Layout given = plain ? Layout() : channels_last_weights(16, Shape{64, 8, 6, 6});
    plan_graph(graph, *device, true, {{2, given}});
    EXPECT_EQ(graph.params[2].layout, given);
    expect_products_fit(graph);
  }
}

}  // namespace
}  // namespace crema
