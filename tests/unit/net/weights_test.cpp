// Parameters into and out of nets.
#include <gmock/gmock.h>

#include "proto/weights.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Packed weights everywhere: oneDNN's for the convolutions, channels-last ones for "ip".
const std::string kNet = "name: \"n\" " + input_layer("x", "2x1x8x8") + R"(
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 12 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "d" type: "Convolution" bottom: "c" top: "d"
  convolution_param { num_output: 10 kernel_size: 3 group: 2 weight_filler { type: "xavier" }
                      bias_filler { type: "constant" value: 0.5 } } }
layer { name: "r" type: "ReLU" bottom: "d" top: "d" }
layer { name: "ip" type: "InnerProduct" bottom: "d" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } })";

NetOptions seeded(std::uint64_t seed) {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.seed = seed;
  return options;
}

StoredWeights stored(const caffe::NetParameter& net, WeightFormat format) {
  const Scratch scratch;
  const std::string path =
      scratch.path(format == WeightFormat::kHdf5 ? "w.caffemodel.h5" : "w.caffemodel");
  write_weights(net, path, format);
  StoredWeights weights = read_weights(path);
  weights.file = "w";
  return weights;
}

TEST(NetWeightsTest, SurviveTheWayThroughAFileInBothFormats) {
  const auto device = make_cpu_device(1);
  for (const auto format : {WeightFormat::kBinary, WeightFormat::kHdf5}) {
    Net from(net_of(kNet), *device, seeded(1)), to(net_of(kNet), *device, seeded(2));
    ASSERT_NE(from.read_params("c"), to.read_params("c"));
    const Net::LoadReport report = to.load(stored(from.to_proto(), format));
    EXPECT_THAT(report.copied, ElementsAre("c", "d", "ip"));
    EXPECT_THAT(report.skipped, IsEmpty());
    EXPECT_THAT(report.missing, IsEmpty());
    for (const char* layer : {"c", "d", "ip"}) {
      EXPECT_EQ(to.read_params(layer), from.read_params(layer)) << layer;
    }
    for (Net* net : {&from, &to}) {
      net->write_blob("x", random_values(128, 3));
      net->forward();
    }
    EXPECT_EQ(to.read_blob("ip"), from.read_blob("ip"));
  }
}

TEST(NetWeightsTest, Hdf5HoldsSharedParametersInTheirOwnerAlone) {
  const auto device = make_cpu_device(1);
  const std::string text = "name: \"n\" " + input_layer("x", "2x4") + R"(
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "t" type: "InnerProduct" bottom: "a" top: "t" param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 4 } })";
  const Net from(net_of(text), *device, seeded(1));
  Net to(net_of(text), *device, seeded(2));
  const StoredWeights weights = stored(from.to_proto(false, true), WeightFormat::kHdf5);
  ASSERT_NE(weights.find("t"), nullptr);
  EXPECT_THAT(weights.find("t")->blobs, IsEmpty());
  to.load(weights);
  EXPECT_EQ(to.read_params("t"), from.read_params("a"));
}

TEST(NetWeightsTest, LayersOfOneNameReadTheirOwn) {
  const auto device = make_cpu_device(1);
  const std::string text = "name: \"n\" " + input_layer("x", "2x4") + R"(
layer { name: "fc" type: "InnerProduct" bottom: "x" top: "a"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "fc" type: "InnerProduct" bottom: "a" top: "b"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } })";
  Net from(net_of(text), *device, seeded(1)), to(net_of(text), *device, seeded(2));
  to.load(stored(from.to_proto(), WeightFormat::kBinary));
  for (Net* net : {&from, &to}) {
    net->write_blob("x", random_values(8, 3));
    net->forward();
  }
  EXPECT_EQ(to.read_blob("b"), from.read_blob("b"));
}

TEST(NetWeightsTest, ParametersArePlainForTheUser) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kNet), *device, seeded(1));
  for (const char* layer : {"c", "d", "ip"}) {
    const std::vector<float> values =
        random_values(static_cast<std::int64_t>(net.read_params(layer)[0].size()), 9);
    net.write_param(layer, 0, values);
    EXPECT_EQ(net.read_params(layer)[0], values);
  }
}

TEST(NetWeightsTest, TheStoredNetIsTheDefinitionAsBuilt) {
  const auto device = make_cpu_device(1);
  const std::string text = kNet + input_layer("y", "2x3") + R"(
layer { name: "l" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "l" }
layer { name: "m" type: "EuclideanLoss" bottom: "y" bottom: "ip" top: "m" loss_weight: 3 })";
  const Net net(net_of(text), *device, seeded(1));
  const caffe::NetParameter proto = net.to_proto();
  EXPECT_EQ(proto.name(), "n");
  std::map<std::string, caffe::LayerParameter> layers;
  for (const auto& layer : proto.layer()) layers[layer.name()] = layer;
  ASSERT_TRUE(layers.contains("ip_ip_0_split"));
  EXPECT_EQ(layers["c"].phase(), caffe::TRAIN);
  EXPECT_TRUE(layers["c"].has_phase());
  ASSERT_EQ(layers["c"].blobs_size(), 2);
  EXPECT_EQ(layers["c"].blobs(0).shape().dim_size(), 4);
  EXPECT_EQ(layers["c"].blobs(0).data_size(), 12 * 9);
  EXPECT_EQ(layers["c"].blobs(0).diff_size(), 0);
  EXPECT_FALSE(layers["c"].has_crema_source());
  ASSERT_EQ(layers["l"].loss_weight_size(), 1);
  EXPECT_EQ(layers["l"].loss_weight(0), 1);
  EXPECT_EQ(layers["m"].loss_weight(0), 3);
  EXPECT_EQ(layers["r"].blobs_size(), 0);
}

TEST(NetWeightsTest, GradientsAreStoredWhenAskedFor) {
  const auto device = make_cpu_device(1);
  NetOptions options = seeded(1);
  options.backward = true;
  Net net(net_of(kNet + input_layer("y", "2x3") +
                 "layer { name: \"l\" type: \"EuclideanLoss\" bottom: \"ip\" bottom: \"y\" top: "
                 "\"l\" }"),
          *device, options);
  net.write_blob("x", random_values(128, 3));
  net.forward();
  net.backward();
  const caffe::NetParameter proto = net.to_proto(true);
  for (const auto& layer : proto.layer()) {
    if (layer.name() != "ip") continue;
    EXPECT_EQ(std::vector<float>(layer.blobs(0).diff().begin(), layer.blobs(0).diff().end()),
              net.read_param_gradient("ip", 0));
  }
}

TEST(NetWeightsTest, LayersAreMatchedByName) {
  const auto device = make_cpu_device(1);
  const Net from(net_of(kNet), *device, seeded(1));
  std::string text = kNet;
  text.replace(text.find("\"ip\" type"), 4, "\"other\"");
  Net to(net_of(text), *device, seeded(2));
  const auto before = to.read_params("other");
  const Net::LoadReport report = to.load(stored(from.to_proto(), WeightFormat::kBinary));
  EXPECT_THAT(report.copied, ElementsAre("c", "d"));
  EXPECT_THAT(report.skipped, ElementsAre("ip"));
  EXPECT_THAT(report.missing, ElementsAre("other"));
  EXPECT_EQ(to.read_params("other"), before);
}

TEST(NetWeightsTest, WhatDoesNotFitNamesFileLayerAndShapes) {
  const auto device = make_cpu_device(1);
  const Net from(net_of(kNet), *device, seeded(1));
  const StoredWeights weights = stored(from.to_proto(), WeightFormat::kBinary);
  std::string text = kNet;
  text.replace(text.find("num_output: 3"), 13, "num_output: 4");
  Net wider(net_of(text), *device, seeded(2));
  EXPECT_EQ(error_of([&] { wider.load(weights); }),
            "w: layer \"ip\": blob 0 has shape 3x160 in the file, 4x160 in the net");
  text = kNet;
  text.replace(text.find("num_output: 3"), 13, "num_output: 3 bias_term: false");
  Net unbiased(net_of(text), *device, seeded(2));
  EXPECT_EQ(error_of([&] { unbiased.load(weights); }),
            "w: layer \"ip\": the file holds 2 blobs, the net's layer has 1 parameter");
}

TEST(NetWeightsTest, BlobsOfTheDefinitionAreTheInitialValues) {
  const auto device = make_cpu_device(1);
  Net from(net_of(kNet), *device, seeded(1));
  caffe::NetParameter definition = from.to_proto();
  Net to(definition, *device, seeded(2));
  EXPECT_EQ(to.read_params("d"), from.read_params("d"));
  for (auto& layer : *definition.mutable_layer()) {
    if (layer.name() == "d") layer.mutable_blobs(0)->mutable_shape()->set_dim(0, 5);
  }
  EXPECT_NE(error_of([&] { Net(definition, *device, seeded(2)); }), "");
}

TEST(NetWeightsTest, SharedParametersAreStoredInEveryLayerButInHdf5OnlyInTheOwners) {
  const std::string shared =
      "param { name: \"w\" } param { name: \"b\" } inner_product_param { "
      "num_output: 2 weight_filler { type: \"xavier\" } } }";
  const std::string text =
      input_layer("x", "2x2") +
      "layer { name: \"a\" type: \"InnerProduct\" bottom: \"x\" top: \"a\" " + shared +
      "layer { name: \"b\" type: \"InnerProduct\" bottom: \"a\" top: \"b\" " + shared;
  const auto device = make_cpu_device(1);
  const Net from(net_of(text), *device, seeded(1));
  EXPECT_EQ(from.read_params("a"), from.read_params("b"));
  for (const auto format : {WeightFormat::kBinary, WeightFormat::kHdf5}) {
    Net to(net_of(text), *device, seeded(2));
    to.load(stored(from.to_proto(), format));
    EXPECT_EQ(to.read_params("b"), from.read_params("b"));
  }
}

}  // namespace
}  // namespace crema
