#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

Graph built(const std::string& text) { return build(filtered(text), state_of(caffe::TRAIN)); }
std::string build_error(const std::string& text) {
  return error_of([&] { built(text); });
}

std::string layer(const std::string& type, const std::string& rest) {
  return "layer { name: \"a\" type: \"" + type + "\" " + rest + " }\n";
}

const std::string kTwo = input_layer("x", "2x3") + input_layer("y", "2x3");
const std::string kStart = "net.prototxt:3: layer \"a\" ";

TEST(BuildTest, ConnectsProducersAndConsumers) {
  const Graph graph = built(kTwo + layer("Concat", "bottom: \"x\" bottom: \"y\" top: \"c\""));
  ASSERT_EQ(graph.nodes.size(), 3u);
  ASSERT_EQ(graph.values.size(), 3u);
  const Value& y = value_of(graph, "y");
  EXPECT_EQ(y.producer, 1);
  EXPECT_EQ(y.producer_top, 0);
  EXPECT_EQ(y.consumer, 2);
  EXPECT_EQ(y.consumer_bottom, 1);
  EXPECT_EQ(value_of(graph, "c").consumer, -1);
}

TEST(BuildTest, InPlaceTopsAreValuesOfTheirOwn) {
  const Graph graph = built(input_layer("x", "2") + layer("ReLU", "bottom: \"x\" top: \"x\""));
  ASSERT_EQ(graph.values.size(), 2u);
  EXPECT_EQ(graph.values[0].blob, "x");
  EXPECT_EQ(graph.values[1].blob, "x");
  EXPECT_EQ(graph.blobs.at("x"), 1);
  EXPECT_EQ(graph.outputs, std::vector<int>{1});
}

TEST(BuildTest, OutputsAreWhatNobodyConsumesInByteOrder) {
  const Graph graph = built(input_layer("b", "2") + input_layer("Z", "2") + input_layer("a", "2") +
                            layer("ReLU", "bottom: \"b\" top: \"_\""));
  Names names;
  for (const int output : graph.outputs) {
    names.push_back(graph.values[static_cast<std::size_t>(output)].blob);
    EXPECT_TRUE(graph.values[static_cast<std::size_t>(output)].keep);
  }
  EXPECT_EQ(names, (Names{"Z", "_", "a"}));
}

TEST(BuildTest, LossesGetTheTopsTheyNeed) {
  const Graph graph = built(kTwo + layer("EuclideanLoss", "bottom: \"x\" bottom: \"y\""));
  ASSERT_EQ(graph.nodes[2].tops.size(), 1u);
  EXPECT_EQ(graph.values[2].blob, "");
  EXPECT_TRUE(graph.outputs.empty());
}

TEST(BuildTest, KeepsNameStateAndForceBackward) {
  const Graph graph = built("name: \"n\" force_backward: true " + kTwo);
  EXPECT_EQ(graph.name, "n");
  EXPECT_TRUE(graph.force_backward);
  EXPECT_EQ(graph.state.phase(), caffe::TRAIN);
}

TEST(BuildTest, UnknownTypesGetTheNearestName) {
  const std::string error = build_error(kTwo + layer("Relu", "bottom: \"x\" top: \"z\""));
  EXPECT_EQ(error.rfind(kStart + "(Relu): ", 0), 0u) << error;
  EXPECT_NE(error.find("did you mean \"ReLU\"?"), std::string::npos) << error;
}

TEST(BuildTest, ATopMadeTwiceIsAnError) {
  EXPECT_EQ(build_error(kTwo + layer("ReLU", "bottom: \"x\" top: \"y\"")),
            kStart + "(ReLU): top \"y\" is already made by layer \"y\"");
  EXPECT_EQ(build_error(layer("Input", "top: \"t\" top: \"t\" input_param { shape { dim: 1 } }")),
            "net.prototxt:1: layer \"a\" (Input): top \"t\" is already made by this layer");
}

TEST(BuildTest, InPlaceMeansTheSameIndex) {
  const std::string error =
      build_error(kTwo + layer("Concat", "bottom: \"x\" bottom: \"y\" top: \"y\""));
  EXPECT_EQ(error, kStart + "(Concat): top \"y\" is already made by layer \"y\"");
}

TEST(BuildTest, CountsOfBottomsAndTopsAreChecked) {
  EXPECT_EQ(build_error(kTwo + layer("ReLU", "bottom: \"x\" bottom: \"y\" top: \"z\"")),
            kStart + "(ReLU): takes 1 bottom, not 2");
  EXPECT_EQ(build_error(kTwo + layer("ReLU", "bottom: \"x\"")),
            kStart + "(ReLU): gives 1 top, not 0");
  EXPECT_EQ(build_error(kTwo + layer("Concat", "top: \"z\"")),
            kStart + "(Concat): takes at least 1 bottom, not 0");
  EXPECT_EQ(build_error(kTwo + layer("Convolution",
                                     "bottom: \"x\" bottom: \"y\" top: \"z\" convolution_param { "
                                     "num_output: 1 kernel_size: 1 }")),
            kStart + "(Convolution): gives as many tops as it has bottoms (2), not 1");
}

TEST(BuildTest, LossWeightsAreGivenNeverOrOnceATop) {
  EXPECT_EQ(build_error(kTwo + layer("ReLU", "bottom: \"x\" top: \"z\" loss_weight: [1, 2]")),
            kStart +
                "(ReLU): loss_weight must be given once for each of the 1 tops or never, not 2 "
                "times");
}

TEST(BuildTest, PropagateDownIsGivenNeverOrOnceABottom) {
  EXPECT_EQ(build_error(kTwo + layer("Concat",
                                     "bottom: \"x\" bottom: \"y\" top: \"z\" propagate_down: "
                                     "true")),
            kStart +
                "(Concat): propagate_down must be given once for each of the 2 bottoms or never, "
                "not 1 times");
}

TEST(BuildTest, ErrorsOfTheLayersThemselvesNameThem) {
  const std::string pooling = build_error(kTwo + layer("Pooling", "bottom: \"x\" top: \"z\""));
  EXPECT_EQ(pooling, kStart + "(Pooling): pooling_param.kernel_size is missing");
}

TEST(BuildTest, DataLayersBecomeInputsWhereAShapeIsGiven) {
  const std::string text =
      "layer { name: \"d\" type: \"Data\" top: \"data\" top: \"label\" data_param { source: "
      "\"/none\" batch_size: 2 } }";
  Graph graph = build_graph(net_of(text), state_of(caffe::TRAIN), 0, {{"data", Shape{5, 3, 8, 8}}});
  infer(graph);
  EXPECT_EQ(graph.nodes[0].type(), "Input");
  EXPECT_EQ(value_of(graph, "data").shape, (Shape{5, 3, 8, 8}));
  EXPECT_EQ(value_of(graph, "label").shape, (Shape{5}));
}

}  // namespace
}  // namespace crema
