#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;
using Flags = std::vector<char>;

std::string ip(const std::string& name, const std::string& bottom, const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"InnerProduct\" bottom: \"" + bottom +
         "\" top: \"" + name + "\" inner_product_param { num_output: 3 } " + more + " }\n";
}
std::string unary(const std::string& type, const std::string& name, const std::string& bottom,
                  const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"" + type + "\" bottom: \"" + bottom +
         "\" top: \"" + name + "\" " + more + " }\n";
}
std::string loss(const std::string& a, const std::string& b, const std::string& more = "") {
  return "layer { name: \"loss\" type: \"EuclideanLoss\" bottom: \"" + a + "\" bottom: \"" + b +
         "\" top: \"loss\" " + more + " }\n";
}

const std::string kInputs = input_layer("x", "2x3") + input_layer("y", "2x3");
const std::string kFrozen = "param { lr_mult: 0 } param { lr_mult: 0 }";

TEST(DifferentiateTest, GradientsReachParametersAndStopThere) {
  const Graph graph = differentiated(kInputs + ip("a", "x") + ip("b", "a") + loss("b", "y"));
  EXPECT_TRUE(node_of(graph, "a").backward);
  EXPECT_EQ(node_of(graph, "a").bottom_gradients, Flags{0});
  EXPECT_EQ(node_of(graph, "a").param_gradients, (Flags{1, 1}));
  EXPECT_EQ(node_of(graph, "b").bottom_gradients, Flags{1});
  EXPECT_EQ(node_of(graph, "loss").bottom_gradients, (Flags{1, 0}));
  EXPECT_FALSE(node_of(graph, "x").backward);
  EXPECT_TRUE(value_of(graph, "a").gradient);
  EXPECT_FALSE(value_of(graph, "x").gradient);
  EXPECT_FALSE(value_of(graph, "y").gradient);
  for (const ParamNode& param : graph.params) EXPECT_TRUE(param.gradient);
}

TEST(DifferentiateTest, WithoutBackwardNothingIsAsked) {
  Graph graph = inferred(kInputs + ip("a", "x") + loss("a", "y"));
  differentiate(graph, false);
  for (const Node& node : graph.nodes) {
    EXPECT_FALSE(node.backward);
    for (const char wanted : node.bottom_gradients) EXPECT_FALSE(wanted);
    for (const char wanted : node.param_gradients) EXPECT_FALSE(wanted);
  }
  for (const Value& value : graph.values) EXPECT_FALSE(value.gradient);
  for (const ParamNode& param : graph.params) EXPECT_FALSE(param.gradient);
}

TEST(DifferentiateTest, AParameterOfRateZeroGetsNone) {
  const Graph graph =
      differentiated(kInputs + ip("a", "x", "param { lr_mult: 0 }") + loss("a", "y"));
  EXPECT_EQ(node_of(graph, "a").param_gradients, (Flags{0, 1}));
  EXPECT_FALSE(graph.params[0].gradient);
  EXPECT_TRUE(graph.params[1].gradient);
}

TEST(DifferentiateTest, NothingRunsBelowTheLowestParameterThatLearns) {
  const Graph graph = differentiated(kInputs + ip("a", "x", kFrozen) + unary("ReLU", "r", "a") +
                                     ip("b", "r") + loss("b", "y"));
  EXPECT_FALSE(node_of(graph, "a").backward);
  EXPECT_FALSE(node_of(graph, "r").backward);
  EXPECT_EQ(node_of(graph, "b").bottom_gradients, Flags{0});
}

TEST(DifferentiateTest, AFrozenLayerPassesGradientsOn) {
  const Graph graph =
      differentiated(kInputs + ip("a", "x") + ip("b", "a", kFrozen) + loss("b", "y"));
  EXPECT_TRUE(node_of(graph, "b").backward);
  EXPECT_EQ(node_of(graph, "b").bottom_gradients, Flags{1});
  EXPECT_EQ(node_of(graph, "b").param_gradients, (Flags{0, 0}));
}

TEST(DifferentiateTest, BranchesWithoutLossGetNone) {
  const Graph graph =
      differentiated(kInputs + ip("a", "x") + ip("b", "a") + ip("unused", "a") + loss("b", "y"));
  EXPECT_FALSE(node_of(graph, "unused").backward);
  EXPECT_EQ(node_of(graph, "unused").bottom_gradients, Flags{0});
  EXPECT_TRUE(node_of(graph, "a").backward);
  EXPECT_TRUE(value_of(graph, "a_a_0_split_0").gradient);
  EXPECT_FALSE(value_of(graph, "a_a_0_split_1").gradient);
}

TEST(DifferentiateTest, ANetWithoutLossHasNoBackward) {
  const Graph graph = differentiated(kInputs + ip("a", "x") + loss("a", "y", "loss_weight: 0"));
  for (const Node& node : graph.nodes) EXPECT_FALSE(node.backward) << node.name();
}

TEST(DifferentiateTest, PropagateDownFalseStopsTheGradient) {
  const Graph graph = differentiated(kInputs + ip("a", "x") + unary("ReLU", "r", "a") +
                                     ip("b", "r", "propagate_down: false") + loss("b", "y"));
  EXPECT_TRUE(node_of(graph, "b").backward);
  EXPECT_EQ(node_of(graph, "b").bottom_gradients, Flags{0});
  EXPECT_EQ(node_of(graph, "b").param_gradients, (Flags{1, 1}));
  EXPECT_FALSE(node_of(graph, "r").backward);
  EXPECT_FALSE(node_of(graph, "a").backward);
}

TEST(DifferentiateTest, PropagateDownTrueAsksWhereNobodyWould) {
  const Graph graph =
      differentiated(kInputs + ip("a", "x", "propagate_down: true") + loss("a", "y"));
  EXPECT_EQ(node_of(graph, "a").bottom_gradients, Flags{1});
  EXPECT_TRUE(value_of(graph, "x").gradient);
}

TEST(DifferentiateTest, BothBottomsOfAnEuclideanLossMayLearn) {
  const Graph graph = differentiated(kInputs + ip("a", "x") + ip("b", "y") + loss("a", "b"));
  EXPECT_EQ(node_of(graph, "loss").bottom_gradients, (Flags{1, 1}));
}

TEST(DifferentiateTest, ForceBackwardAsksForEverythingThatHasAGradient) {
  const std::string text = "force_backward: true " + input_layer("x", "2x3") +
                           input_layer("label", "2") + ip("a", "x", kFrozen) +
                           "layer { name: \"loss\" type: \"SoftmaxWithLoss\" bottom: \"a\" bottom: "
                           "\"label\" top: \"loss\" }";
  const Graph graph = differentiated(text);
  EXPECT_EQ(node_of(graph, "loss").bottom_gradients, (Flags{1, 0}));  // no gradient of labels
  EXPECT_EQ(node_of(graph, "a").bottom_gradients, Flags{1});
  EXPECT_EQ(node_of(graph, "a").param_gradients, (Flags{1, 1}));
  EXPECT_TRUE(value_of(graph, "x").gradient);
  EXPECT_FALSE(value_of(graph, "label").gradient);
}

TEST(DifferentiateTest, ForceBackwardDoesNotAskAccuracy) {
  const std::string text =
      "force_backward: true " + input_layer("x", "2x3") + input_layer("label", "2") + ip("a", "x") +
      "layer { name: \"acc\" type: \"Accuracy\" bottom: \"a\" bottom: \"label\" top: \"acc\" }" +
      "layer { name: \"loss\" type: \"SoftmaxWithLoss\" bottom: \"a\" bottom: \"label\" top: "
      "\"loss\" }";
  const Graph graph = differentiated(text);
  EXPECT_FALSE(node_of(graph, "acc").backward);
}

TEST(DifferentiateTest, ALossInTheMiddleCounts) {
  const Graph graph = differentiated(kInputs + ip("a", "x", "loss_weight: 2"));
  EXPECT_TRUE(node_of(graph, "a").backward);
  EXPECT_EQ(node_of(graph, "a").param_gradients, (Flags{1, 1}));
}

TEST(DifferentiateTest, LabelsThatLayersMadeWhichLearnAreRefused) {
  for (const std::string type :
       {"SoftmaxWithLoss", "SigmoidCrossEntropyLoss", "HingeLoss", "MultinomialLogisticLoss"}) {
    const auto net = [&](const std::string& label_more, const std::string& loss_more,
                         const std::string& net_more = "") {
      return net_more + kInputs + ip("a", "x") + ip("b", "y", label_more) +
             "layer { name: \"pick\" type: \"" +
             (type == "SigmoidCrossEntropyLoss" ? "Power" : "ArgMax") +
             "\" bottom: \"b\" top: \"l\" }\nlayer { name: \"loss\" type: \"" + type +
             "\" bottom: \"a\" bottom: \"l\" top: \"loss\" " + loss_more + " }\n";
    };
    EXPECT_EQ(error_of([&] { differentiated(net("", "")); }),
              "net.prototxt:6: layer \"loss\" (" + type +
                  "): bottom 1 (labels) comes from layers that learn, but this layer has no "
                  "gradient for it; add propagate_down: true propagate_down: false, or set their "
                  "lr_mult to 0");
    EXPECT_NO_THROW(differentiated(net("", "propagate_down: true propagate_down: false")));
    EXPECT_NO_THROW(differentiated(net(kFrozen, "")));
    EXPECT_NO_THROW(differentiated(net(kFrozen, "", "force_backward: true ")));
    EXPECT_NO_THROW(differentiated(net("", "loss_weight: 0")));
    Graph tested = inferred(net("", ""), caffe::TEST);
    EXPECT_NO_THROW(differentiate(tested, false));
  }
  // Here both bottoms have a gradient.
  EXPECT_NO_THROW(differentiated(kInputs + ip("a", "x") + ip("b", "y") + loss("a", "b")));
}

}  // namespace
}  // namespace crema
