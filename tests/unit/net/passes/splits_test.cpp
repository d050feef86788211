#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

const std::string kData = input_layer("data", "2x3");

std::string relu(const std::string& name, const std::string& bottom, const std::string& top,
                 const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"ReLU\" bottom: \"" + bottom + "\" top: \"" + top +
         "\" " + more + " }\n";
}

Names names(const caffe::NetParameter& net) {
  Names result;
  for (const auto& layer : net.layer()) result.push_back(layer.name());
  return result;
}

TEST(SplitsTest, ABlobUsedOnceNeedsNone) {
  EXPECT_EQ(names(insert_splits(filtered(kData + relu("a", "data", "a")))), (Names{"data", "a"}));
}

TEST(SplitsTest, ABlobUsedTwiceGetsOneRightAfterItsProducer) {
  const auto net = insert_splits(filtered(kData + relu("a", "data", "a") + relu("b", "data", "b")));
  EXPECT_EQ(names(net), (Names{"data", "data_data_0_split", "a", "b"}));
  const caffe::LayerParameter& split = net.layer(1);
  EXPECT_EQ(split.type(), "Split");
  EXPECT_EQ(split.bottom(0), "data");
  EXPECT_EQ(split.top(0), "data_data_0_split_0");
  EXPECT_EQ(split.top(1), "data_data_0_split_1");
  EXPECT_EQ(split.phase(), caffe::TRAIN);
  EXPECT_EQ(net.layer(2).bottom(0), "data_data_0_split_0");
  EXPECT_EQ(net.layer(3).bottom(0), "data_data_0_split_1");
}

TEST(SplitsTest, OneLayerMayUseABlobTwice) {
  const auto net = insert_splits(filtered(
      kData +
      "layer { name: \"c\" type: \"Concat\" bottom: \"data\" bottom: \"data\" top: \"c\" }"));
  EXPECT_EQ(net.layer(2).bottom(0), "data_data_0_split_0");
  EXPECT_EQ(net.layer(2).bottom(1), "data_data_0_split_1");
}

TEST(SplitsTest, TheProducerIsTheLastInPlaceLayer) {
  const auto net = insert_splits(filtered(kData + relu("a", "data", "a") + relu("b", "a", "a") +
                                          relu("c", "a", "c") + relu("d", "a", "d")));
  EXPECT_EQ(names(net), (Names{"data", "a", "b", "a_b_0_split", "c", "d"}));
}

TEST(SplitsTest, TheNameHasTheTopsIndex) {
  const auto net = insert_splits(filtered(
      "layer { name: \"in\" type: \"Input\" top: \"x\" top: \"y\" input_param { shape { dim: 2 } } "
      "}" +
      relu("a", "y", "a") + relu("b", "y", "b")));
  EXPECT_EQ(names(net)[1], "y_in_1_split");
}

TEST(SplitsTest, AnExplicitLossWeightIsAUse) {
  const auto net = insert_splits(filtered(kData + relu("a", "data", "a", "loss_weight: 0.5") +
                                          relu("b", "a", "b") + relu("c", "a", "c")));
  EXPECT_EQ(names(net), (Names{"data", "a", "a_a_0_split", "b", "c"}));
  EXPECT_EQ(net.layer(1).loss_weight_size(), 0);
  const caffe::LayerParameter& split = net.layer(2);
  ASSERT_EQ(split.top_size(), 3);
  ASSERT_EQ(split.loss_weight_size(), 3);
  EXPECT_EQ(split.loss_weight(0), 0.5f);
  EXPECT_EQ(split.loss_weight(1), 0);
  EXPECT_EQ(split.loss_weight(2), 0);
  // Top 0 is left for the loss.
  EXPECT_EQ(net.layer(3).bottom(0), "a_a_0_split_1");
  EXPECT_EQ(net.layer(4).bottom(0), "a_a_0_split_2");
}

TEST(SplitsTest, ALossThatNobodyElseUsesNeedsNone) {
  const auto net = insert_splits(filtered(kData + relu("a", "data", "a", "loss_weight: 2")));
  EXPECT_EQ(names(net), (Names{"data", "a"}));
  EXPECT_EQ(net.layer(1).loss_weight(0), 2);
}

TEST(SplitsTest, TheDefaultWeightOfALossIsNoUse) {
  const auto net = insert_splits(filtered(kData + input_layer("label", "2x3") +
                                          "layer { name: \"l\" type: \"EuclideanLoss\" bottom: "
                                          "\"data\" bottom: \"label\" top: \"l\" }" +
                                          relu("a", "l", "a")));
  EXPECT_EQ(names(net), (Names{"data", "label", "l", "a"}));
}

std::string bottom_error(const std::string& text) {
  return error_of([&] { insert_splits(filtered(text)); });
}

TEST(SplitsTest, AnUnknownBottomGetsTheNearestName) {
  EXPECT_EQ(bottom_error(kData + relu("a", "dada", "a")),
            "net.prototxt:2: layer \"a\" (ReLU): bottom \"dada\" is not produced by an earlier "
            "layer; did you mean \"data\"?");
  EXPECT_EQ(bottom_error(kData + relu("a", "elsewhere", "a")),
            "net.prototxt:2: layer \"a\" (ReLU): bottom \"elsewhere\" is not produced by an "
            "earlier layer");
}

TEST(SplitsTest, ABottomOfARemovedLayerSaysWhy) {
  EXPECT_EQ(
      bottom_error(kData + relu("a", "data", "x", "include { phase: TEST }") + relu("b", "x", "b")),
      "net.prototxt:3: layer \"b\" (ReLU): bottom \"x\" is not there: layer \"a\", which "
      "makes it, is left out: phase is TRAIN, not TEST");
}

TEST(SplitsTest, ABottomOfALaterLayerSaysSo) {
  EXPECT_EQ(bottom_error(kData + relu("a", "x", "a") + relu("b", "data", "x")),
            "net.prototxt:2: layer \"a\" (ReLU): bottom \"x\" is produced only later, by layer "
            "\"b\"; layers run in the order of the file");
  // Its own top is not there either.
  EXPECT_NE(bottom_error(kData + relu("a", "x", "x")).find("is produced only later"),
            std::string::npos);
}

}  // namespace
}  // namespace crema
