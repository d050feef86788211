#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;

std::string ip(const std::string& more = "") {
  return "layer { name: \"a\" type: \"InnerProduct\" bottom: \"x\" top: \"a\" inner_product_param "
         "{ "
         "num_output: 3 } " +
         more + " }\n";
}
std::string relu(const std::string& bottom, const std::string& top, const std::string& more = "") {
  return "layer { name: \"r\" type: \"ReLU\" bottom: \"" + bottom + "\" top: \"" + top + "\" " +
         more + " }\n";
}
const std::string kLoss =
    "layer { name: \"loss\" type: \"EuclideanLoss\" bottom: \"r\" bottom: \"y\" top: \"loss\" }\n";
const std::string kInputs = input_layer("x", "2x3") + input_layer("y", "2x3");

Graph fused(const std::string& text, const std::string& keep = "") {
  Graph graph = inferred(text);
  if (!keep.empty()) graph.values[static_cast<std::size_t>(graph.blobs.at(keep))].keep = true;
  differentiate(graph, true);
  fuse(graph, DeviceKind::kCpu);
  return graph;
}

TEST(FuseTest, AReluMovesIntoTheInnerProductBeforeIt) {
  const Graph graph =
      fused(kInputs + ip() + relu("a", "r", "relu_param { negative_slope: 0.25 }") + kLoss);
  const Node& product = node_of(graph, "a");
  const Node& relu = node_of(graph, "r");
  EXPECT_TRUE(product.fused_relu);
  EXPECT_EQ(product.fused_relu_slope, 0.25f);
  EXPECT_TRUE(relu.fused_away);
  EXPECT_FALSE(relu.backward);
  EXPECT_EQ(relu.fuse_refusal, "");
  EXPECT_EQ(product.tops[0], graph.blobs.at("r"));
  EXPECT_EQ(value_of(graph, "r").producer, 2);
  EXPECT_EQ(value_of(graph, "a").producer, -1);
  EXPECT_EQ(value_of(graph, "a").consumer, -1);
}

TEST(FuseTest, AnInPlaceReluMovesEvenWhenItsBlobIsKept) {
  const Graph graph = fused(kInputs + ip() + relu("a", "a"), "a");
  EXPECT_TRUE(node_of(graph, "r").fused_away);
}

TEST(FuseTest, ABlobThatIsAskedForStays) {
  const Graph graph = fused(kInputs + ip() + relu("a", "r") + kLoss, "a");
  EXPECT_FALSE(node_of(graph, "a").fused_relu);
  EXPECT_EQ(node_of(graph, "r").fuse_refusal, "its top is asked for by name");
}

TEST(FuseTest, AConvolutionKeepsItsNans) {
  const Graph graph = fused(
      input_layer("x", "2x3x4x4") +
      "layer { name: \"a\" type: \"Convolution\" bottom: \"x\" top: \"a\" convolution_param { "
      "num_output: 3 kernel_size: 1 } }" +
      relu("a", "a"));
  EXPECT_FALSE(node_of(graph, "r").fused_away);
  EXPECT_NE(node_of(graph, "r").fuse_refusal, "");
}

TEST(FuseTest, ANegativeSlopeBelowZeroIsRefused) {
  const Graph graph =
      fused(kInputs + ip() + relu("a", "r", "relu_param { negative_slope: -0.5 }") + kLoss);
  EXPECT_EQ(node_of(graph, "r").fuse_refusal, "negative_slope is below 0");
}

TEST(FuseTest, ALossIsRefused) {
  // The weight puts a Split in between when the ReLU reads the blob too, so it is put there by
  // hand.
  Graph graph = inferred(kInputs + ip() + relu("a", "r") + kLoss);
  graph.values[static_cast<std::size_t>(graph.blobs.at("a"))].loss_weight = 1;
  differentiate(graph, true);
  fuse(graph, DeviceKind::kCpu);
  EXPECT_EQ(node_of(graph, "r").fuse_refusal, "its top is a loss");
}

TEST(FuseTest, AReluThatStopsTheGradientStillStopsIt) {
  const Graph graph = fused(kInputs + ip() + relu("a", "r", "propagate_down: false") + kLoss);
  EXPECT_FALSE(node_of(graph, "a").backward);
}

TEST(FuseTest, AReluOfAnotherLayerIsRefused) {
  const Graph graph = fused(kInputs + relu("x", "r") + kLoss);
  EXPECT_EQ(node_of(graph, "r").fuse_refusal, "this layer has no fused form");
}

TEST(FuseTest, ASecondReluStaysWhereItIs) {
  const Graph graph =
      fused(kInputs + ip() + "layer { name: \"first\" type: \"ReLU\" bottom: \"a\" top: \"a\" }" +
            relu("a", "r") + kLoss);
  EXPECT_TRUE(node_of(graph, "first").fused_away);
  EXPECT_FALSE(node_of(graph, "r").fused_away);
  EXPECT_EQ(node_of(graph, "r").bottoms[0], node_of(graph, "a").tops[0]);
}

TEST(FuseTest, NothingIsFusedForOtherDevices) {
  Graph graph = inferred(kInputs + ip() + relu("a", "r") + kLoss);
  differentiate(graph, true);
  fuse(graph, DeviceKind::kCuda);
  EXPECT_EQ(node_of(graph, "r").fuse_refusal, "the inner product of this device has no fused form");
}

}  // namespace
}  // namespace crema
