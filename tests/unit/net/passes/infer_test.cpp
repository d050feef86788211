#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;

std::string ip(const std::string& name, const std::string& bottom, int outputs,
               const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"InnerProduct\" bottom: \"" + bottom +
         "\" top: \"" + name + "\" inner_product_param { num_output: " + std::to_string(outputs) +
         " } " + more + " }\n";
}

std::string infer_error(const std::string& text) {
  return error_of([&] { inferred(text); });
}

TEST(InferTest, GivesShapesParametersAndWork) {
  const Graph graph = inferred(input_layer("x", "2x3x4") + ip("a", "x", 5) + ip("b", "a", 7));
  EXPECT_EQ(value_of(graph, "a").shape, (Shape{2, 5}));
  EXPECT_EQ(value_of(graph, "b").shape, (Shape{2, 7}));
  ASSERT_EQ(graph.params.size(), 4u);
  EXPECT_EQ(graph.params[0].shape, (Shape{5, 12}));
  EXPECT_EQ(graph.params[1].shape, (Shape{5}));
  EXPECT_EQ(graph.params[2].shape, (Shape{7, 5}));
  EXPECT_EQ(graph.params[2].owner, 2);
  EXPECT_EQ(graph.params[3].index, 1);
  EXPECT_EQ(node_of(graph, "a").multiply_adds, 2 * 5 * 12);
  EXPECT_EQ(node_of(graph, "b").params, (std::vector<int>{2, 3}));
}

TEST(InferTest, MultipliersComeFromTheParamEntries) {
  const Graph graph = inferred(input_layer("x", "2x3") +
                               ip("a", "x", 5, "param { lr_mult: 0.5 decay_mult: 0 } param { }"));
  EXPECT_EQ(graph.params[0].lr_mult, 0.5f);
  EXPECT_EQ(graph.params[0].decay_mult, 0);
  EXPECT_EQ(graph.params[1].lr_mult, 1);
  EXPECT_EQ(graph.params[1].decay_mult, 1);
}

TEST(InferTest, TooManyParamEntriesAreAnError) {
  EXPECT_EQ(infer_error(input_layer("x", "2x3") + ip("a", "x", 5, "param { } param { } param { }")),
            "net.prototxt:2: layer \"a\" (InnerProduct): has 2 parameters, but 3 param entries are "
            "given");
}

TEST(InferTest, ParametersOfOneNameAreOne) {
  const Graph graph =
      inferred(input_layer("x", "2x3") + input_layer("y", "2x3") +
               ip("a", "x", 5, "param { name: \"w\" lr_mult: 2 } param { name: \"b\" }") +
               ip("c", "y", 5, "param { name: \"w\" } param { name: \"b\" decay_mult: 3 }"));
  ASSERT_EQ(graph.params.size(), 2u);
  EXPECT_EQ(node_of(graph, "a").params, node_of(graph, "c").params);
  EXPECT_EQ(graph.params[0].owner, 2);
  EXPECT_EQ(graph.params[0].lr_mult, 2);
  // The first explicit value counts, whoever of the sharers gives it.
  EXPECT_EQ(graph.params[1].decay_mult, 3);
}

TEST(InferTest, SharersMustAgreeInTheirMultipliers) {
  const auto text = [](const std::string& first, const std::string& second) {
    return input_layer("x", "2x3") + input_layer("y", "2x3") +
           ip("a", "x", 5, "param { name: \"w\" " + first + " }") +
           ip("c", "y", 5, "param { name: \"w\" " + second + " }");
  };
  EXPECT_EQ(infer_error(text("lr_mult: 2", "lr_mult: 2")), "");
  EXPECT_EQ(infer_error(text("lr_mult: 2", "lr_mult: 3")),
            "net.prototxt:4: layer \"c\" (InnerProduct): param \"w\" is shared with lr_mult 2; "
            "here it is 3: they must be equal");
  EXPECT_EQ(infer_error(text("decay_mult: 0", "decay_mult: 1")),
            "net.prototxt:4: layer \"c\" (InnerProduct): param \"w\" is shared with decay_mult 0; "
            "here it is 1: they must be equal");
}

TEST(InferTest, StrictSharersHaveOneShapePermissiveOnesOneCount) {
  const auto text = [](const std::string& y, const std::string& mode) {
    return input_layer("x", "2x6") + input_layer("y", y) +
           ip("a", "x", 5, "param { name: \"w\" }") +
           ip("c", "y", 6, "param { name: \"w\" " + mode + " }");
  };
  EXPECT_EQ(infer_error(text("2x5", "")),
            "net.prototxt:4: layer \"c\" (InnerProduct): param \"w\" is shared with layer \"a\", "
            "but its shape is 6x5 here and 5x6 there (share_mode: PERMISSIVE asks for equal counts "
            "only)");
  EXPECT_EQ(infer_error(text("2x5", "share_mode: PERMISSIVE")), "");
  EXPECT_EQ(infer_error(text("2x4", "share_mode: PERMISSIVE")),
            "net.prototxt:4: layer \"c\" (InnerProduct): param \"w\" is shared with layer \"a\", "
            "but has 24 values here (6x4) and 30 there (5x6)");
}

TEST(InferTest, TheParametersOfOneLayerCannotBeOneUnlessTheirShapesAgree) {
  EXPECT_NE(infer_error(input_layer("x", "2x3") +
                        ip("a", "x", 5, "param { name: \"w\" } param { name: \"w\" }")),
            "");
}

TEST(InferTest, LossWeights) {
  const Graph graph = inferred(
      input_layer("x", "2x3") + input_layer("y", "2x3") +
      "layer { name: \"r\" type: \"ReLU\" bottom: \"x\" top: \"r\" }"
      "layer { name: \"l\" type: \"EuclideanLoss\" bottom: \"r\" bottom: \"y\" top: \"l\" }");
  EXPECT_EQ(value_of(graph, "l").loss_weight, 1);
  EXPECT_EQ(value_of(graph, "r").loss_weight, 0);
  const Graph other =
      inferred(input_layer("x", "2x3") + input_layer("y", "2x3") +
               "layer { name: \"r\" type: \"ReLU\" bottom: \"x\" top: \"r\" loss_weight: 3 }"
               "layer { name: \"l\" type: \"EuclideanLoss\" bottom: \"r\" bottom: \"y\" top: \"l\" "
               "loss_weight: 0 }");
  EXPECT_EQ(value_of(other, "l").loss_weight, 0);
  EXPECT_EQ(value_of(other, "r_r_0_split_0").loss_weight, 3);
}

TEST(InferTest, ErrorsNameLayerAndLine) {
  EXPECT_EQ(infer_error(input_layer("x", "2x3") +
                        "layer { name: \"p\" type: \"Pooling\" bottom: \"x\" top: \"p\" "
                        "pooling_param { kernel_size: 2 } }"),
            "net.prototxt:2: layer \"p\" (Pooling): the bottom must have 4 axes (N x C x H x W), "
            "not 2 (2x3); for another number give kernel_size_3d in place of kernel_size");
}

TEST(InferTest, RunsAgainForOtherInputShapes) {
  Graph graph = inferred(input_layer("x", "2x3x4") + ip("a", "x", 5));
  graph.reshaped["x"] = Shape{7, 4, 3};
  infer(graph);
  EXPECT_EQ(value_of(graph, "a").shape, (Shape{7, 5}));
  EXPECT_EQ(graph.params.size(), 2u);
  EXPECT_EQ(node_of(graph, "a").multiply_adds, 7 * 5 * 12);
}

TEST(InferTest, ParametersDoNotFollowOtherInputShapes) {
  Graph graph = inferred(input_layer("x", "2x3x4") + ip("a", "x", 5));
  graph.reshaped["x"] = Shape{2, 3, 5};
  EXPECT_EQ(error_of([&] { infer(graph); }),
            "net.prototxt:2: layer \"a\" (InnerProduct): its parameter 0 has shape 5x12, but these "
            "inputs ask for 5x15");
}

}  // namespace
}  // namespace crema
