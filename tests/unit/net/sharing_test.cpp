// A test net on the parameters of a train net.
#include "net/executor.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

const std::string kNet = input_layer("x", "2x2x8x8") + R"(
layer { name: "drop" type: "Dropout" bottom: "x" top: "drop" include { phase: TRAIN } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "extra" type: "InnerProduct" bottom: "ip" top: "extra" include { phase: TEST }
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } })";

NetOptions options_of(caffe::Phase phase, const Net* share = nullptr) {
  NetOptions options;
  options.state = state_of(phase);
  options.backward = phase == caffe::TRAIN;
  options.share_with = share;
  options.keep = {"ip"};
  return options;
}

TEST(SharingTest, TheTestNetSeesWhatTraining) {
  const auto device = make_cpu_device(1);
  Net train(net_of(kNet), *device, options_of(caffe::TRAIN));
  Net test(net_of(kNet), *device, options_of(caffe::TEST, &train));
  EXPECT_EQ(test.read_params("c"), train.read_params("c"));
  for (Net* net : {&train, &test}) net->write_blob("x", random_values(256, 1));
  train.write_param("c", 0, random_values(8 * 2 * 9, 5));
  EXPECT_EQ(test.read_params("c"), train.read_params("c"));
  train.forward();
  test.forward();
  EXPECT_EQ(test.read_blob("ip"), train.read_blob("ip"));
  EXPECT_EQ(test.parameters()[0].data.read(), train.parameters()[0].data.read());
}

TEST(SharingTest, SharedParametersTakeNoMemoryOfTheirOwn) {
  const auto device = make_cpu_device(1);
  Net train(net_of(kNet), *device, options_of(caffe::TRAIN));
  const std::size_t before = device->bytes_allocated();
  const Net alone(net_of(kNet), *device, options_of(caffe::TEST));
  const std::size_t middle = device->bytes_allocated();
  const Net sharing(net_of(kNet), *device, options_of(caffe::TEST, &train));
  const std::size_t saved = middle - before - (device->bytes_allocated() - middle);
  EXPECT_GE(saved, (8 * 18 + 8 + 3 * 288 + 3) * sizeof(float));  // "extra" is its own
}

TEST(SharingTest, OtherInputsMayLeadToOtherLayouts) {
  const auto device = make_cpu_device(1);
  Net train(net_of(kNet), *device, options_of(caffe::TRAIN));
  std::string text = kNet;
  text.replace(0, text.find('\n'), input_layer("x", "5x2x8x8"));
  Net test(net_of(text), *device, options_of(caffe::TEST, &train));
  const std::vector<float> x = random_values(5 * 128, 1);
  test.write_blob("x", x);
  test.forward();
  train.reshape({{"x", Shape{5, 2, 8, 8}}});
  train.write_blob("x", x);
  train.forward();
  expect_near(test.read_blob("ip"), train.read_blob("ip"), 1e-6, "ip");
}

TEST(SharingTest, WhatDoesNotFitIsAnError) {
  const auto device = make_cpu_device(1);
  Net train(net_of(kNet), *device, options_of(caffe::TRAIN));
  std::string other = kNet;
  other.replace(other.find("num_output: 8"), 13, "num_output: 9");
  EXPECT_EQ(error_of([&] { Net(net_of(other), *device, options_of(caffe::TEST, &train)); }),
            "net.prototxt:4: layer \"c\" (Convolution): its parameter 0 has shape 9x2x3x3, but "
            "8x2x3x3 in the net that it shares it with");
  other = kNet;
  other.replace(other.find("num_output: 8"), 13, "num_output: 8 bias_term: false");
  EXPECT_EQ(error_of([&] { Net(net_of(other), *device, options_of(caffe::TEST, &train)); }),
            "net.prototxt:4: layer \"c\" (Convolution): has 1 parameters, but 2 in the net that it "
            "shares them with");
}

TEST(SharingTest, SharersOfOneNetAddTheirGradients) {
  const std::string text = input_layer("x", "2x4") + input_layer("y", "2x4") + R"(
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "b" type: "InnerProduct" bottom: "y" top: "b" param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 3 } }
layer { name: "l" type: "EuclideanLoss" bottom: "a" bottom: "b" top: "l" })";
  const auto device = make_cpu_device(1);
  Net net(net_of(text), *device, [] {
    NetOptions options = options_of(caffe::TRAIN);
    options.keep = {"a", "b"};
    return options;
  }());
  ASSERT_EQ(net.parameters().size(), 2u);
  const std::vector<float> x = random_values(8, 1), y = random_values(8, 2);
  net.write_blob("x", x);
  net.write_blob("y", y);
  net.forward();
  net.backward();
  const std::vector<float> a = net.read_blob("a"), b = net.read_blob("b");
  std::vector<float> expected(12);
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t o = 0; o < 3; ++o) {
      const float d = (a[n * 3 + o] - b[n * 3 + o]) / 2;
      for (std::size_t i = 0; i < 4; ++i) expected[o * 4 + i] += d * (x[n * 4 + i] - y[n * 4 + i]);
    }
  }
  expect_near(net.read_param_gradient("a", 0), expected, 1e-5, "w");
  EXPECT_EQ(net.read_param_gradient("b", 0), net.read_param_gradient("a", 0));
  expect_near(net.read_param_gradient("a", 1), {0, 0, 0}, 1e20, "b");
}

}  // namespace
}  // namespace crema
