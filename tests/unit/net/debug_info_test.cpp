#include "net/debug_info.h"

#include <gmock/gmock.h>

#include "../base/log_lines.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;

NetOptions observed() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  options.separate_layers = true;
  options.seed = 3;
  return options;
}

/// x = (1, -2), w = ((1, 0), (1, 1)), target 0: ip = (1, -1), relu = (1, 0), loss 0.5, gradients 1
/// and 0 of relu and ip, w's ((1, -2), (0, 0)).
const std::string kSmall = R"(
layer { name: "d" type: "DummyData" top: "x" top: "y"
        dummy_data_param { shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" param { name: "w" } param { }
        inner_product_param { num_output: 2 } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" }
layer { name: "watch" type: "Silence" bottom: "ip" })";

TEST(DebugInfoTest, LogsCaffesLines) {
  std::string text = kSmall;
  const std::string data = "layer { name: \"d\" type: \"DummyData\"";
  text.replace(text.find("layer { name: \"d\""), text.find("layer { name: \"ip\"") - 1,
               input_layer("x", "1x2") + input_layer("y", "1x2"));
  const auto device = make_cpu_device(1);
  Net net(net_of(text), *device, observed());
  DebugInfo debug_info(net);
  net.observe(&debug_info);
  net.write_blob("x", {1, -2});
  net.write_blob("y", {0, 0});
  net.write_param("ip", 0, {1, 0, 1, 1});
  net.write_param("ip", 1, {0, 0});
  const LogLines log;
  net.clear_gradients();
  net.forward();
  net.backward();
  EXPECT_THAT(
      log.lines,
      ElementsAre("    [Forward] Layer x, top blob x data: 1.5",
                  "    [Forward] Layer y, top blob y data: 0",
                  "    [Forward] Layer ip, top blob ip data: 1",
                  "    [Forward] Layer ip, param blob w data: 0.75",
                  "    [Forward] Layer ip, param blob 1 data: 0",
                  "    [Forward] Layer relu, top blob ip data: 0.5",
                  "    [Forward] Layer ip_relu_0_split, top blob ip_relu_0_split_0 data: 0.5",
                  "    [Forward] Layer ip_relu_0_split, top blob ip_relu_0_split_1 data: 0.5",
                  "    [Forward] Layer loss, top blob (automatic) data: 0.5",
                  "    [Backward] Layer loss, bottom blob ip_relu_0_split_0 diff: 0.5",
                  "    [Backward] Layer ip_relu_0_split, bottom blob ip diff: 0.5",
                  "    [Backward] Layer relu, bottom blob ip diff: 0.5",
                  "    [Backward] Layer ip, param blob 0 diff: 0.75",
                  "    [Backward] Layer ip, param blob 1 diff: 0.5",
                  "    [Backward] All net params (data, diff): L1 norm = (3, 4); L2 norm = "
                  "(1.73205, 2.44949)"));
}

TEST(DebugInfoTest, GradientsAddUpOverPasses) {
  const auto device = make_cpu_device(1);
  std::string text = kSmall;
  text.replace(text.find("shape { dim: 1 dim: 2 } }"), 0,
               "data_filler { value: 1 } data_filler { } ");
  Net net(net_of(text), *device, observed());
  net.write_param("ip", 0, {1, 1, 1, 1});
  net.forward();
  net.backward();  // (2, 2) are the gradients by ip
  DebugInfo debug_info(net);
  net.observe(&debug_info);
  net.forward();
  const LogLines log;
  net.backward();
  EXPECT_THAT(log.lines, ::testing::Contains("    [Backward] Layer ip, param blob 0 diff: 4"));
  EXPECT_THAT(log.lines, ::testing::Contains("    [Backward] Layer relu, bottom blob ip diff: 2"));
}

/// Every layer has a top of its own, so that a second net can be asked for all of them by name.
const std::string kConvolutions = input_layer("x", "3x2x9x9") + input_layer("label", "3") + R"(
layer { name: "conv1" type: "Convolution" bottom: "x" top: "conv1"
        convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "relu1" }
layer { name: "pool" type: "Pooling" bottom: "relu1" top: "pool"
        pooling_param { kernel_size: 3 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool" top: "conv2"
        convolution_param { num_output: 16 kernel_size: 2 weight_filler { type: "xavier" } } }
layer { name: "ip1" type: "InnerProduct" bottom: "conv2" top: "ip1"
        inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
layer { name: "relu2" type: "ReLU" bottom: "ip1" top: "relu2" }
layer { name: "drop" type: "Dropout" bottom: "relu2" top: "drop" }
layer { name: "ip2" type: "InnerProduct" bottom: "drop" top: "ip2"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";

double mean_absolute(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += std::abs(double{x});
  return sum / static_cast<double>(values.size());
}

TEST(DebugInfoTest, ShowsTheValuesThoughMemoryIsShared) {
  const auto device = make_cpu_device(2);
  Net net(net_of(kConvolutions), *device, observed());
  NetOptions exposed = observed();
  exposed.separate_layers = false;
  exposed.keep_all = exposed.expose_gradients = true;
  Net reference(net_of(kConvolutions), *device, exposed);
  for (Net* each : {&net, &reference}) {
    each->write_blob("x", random_values(3 * 2 * 81, 5));
    each->write_blob("label", {0, 4, 2});
  }
  DebugInfo debug_info(net);
  net.observe(&debug_info);
  const LogLines log;
  for (Net* each : {&net, &reference}) {
    each->clear_gradients();
    each->forward();
    each->backward();
  }
  int tops = 0, bottoms = 0, gradients = 0;
  for (const std::string& line : log.lines) {
    const std::vector<std::string> words =
        split(line, ' ');  // [Forward] Layer N, top blob B data: V
    if (words.size() != 8) continue;
    const std::string layer = words[2].substr(0, words[2].size() - 1), blob = words[5];
    const double shown = std::stod(words[7]);
    double expected = 0;
    if (words[3] == "top") {
      expected = mean_absolute(reference.read_blob(blob));
      ++tops;
    } else if (words[3] == "bottom") {
      expected = mean_absolute(reference.read_gradient(blob));
      ++bottoms;
    } else if (words[0] == "[Backward]") {
      expected = mean_absolute(reference.read_param_gradient(layer, std::stoi(blob)));
      ++gradients;
    } else {
      expected = mean_absolute(reference.read_params(layer)[std::stoul(blob)]);
    }
    EXPECT_NEAR(shown, expected, 1e-5 * expected + 1e-12) << line;
  }
  EXPECT_EQ(tops, 11);
  EXPECT_EQ(bottoms, 8);  // conv1's is the data
  EXPECT_EQ(gradients, 8);
}

TEST(DebugInfoTest, ChangesNothing) {
  const auto device = make_cpu_device(2);
  NetOptions plain = observed();
  plain.separate_layers = false;
  Net net(net_of(kConvolutions), *device, observed()), other(net_of(kConvolutions), *device, plain);
  DebugInfo debug_info(net);
  net.observe(&debug_info);
  for (Net* each : {&net, &other}) {
    each->write_blob("x", random_values(3 * 2 * 81, 5));
    each->write_blob("label", {0, 4, 2});
    each->clear_gradients();
  }
  const LogLines log;
  EXPECT_EQ(net.forward(), other.forward());
  net.backward();
  other.backward();
  for (const char* layer : {"conv1", "conv2", "ip1", "ip2"}) {
    EXPECT_EQ(net.read_param_gradient(layer, 0), other.read_param_gradient(layer, 0)) << layer;
  }
}

}  // namespace
}  // namespace crema
