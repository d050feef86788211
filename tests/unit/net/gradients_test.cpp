// Gradients through whole nets by finite differences.
#include <functional>

#include "support.h"

namespace crema {
namespace {

using namespace testing;

const std::string kLeNet =
    "force_backward: true\n" + input_layer("data", "4x2x14x14") + input_layer("label", "4") + R"(
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "norm1" type: "LRN" bottom: "pool1" top: "norm1" lrn_param { local_size: 3 alpha: 0.5 } }
layer { name: "conv2" type: "Convolution" bottom: "norm1" top: "conv2"
  convolution_param { num_output: 12 kernel_size: 3 group: 2 weight_filler { type: "xavier" } } }
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
  inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
)";

double norm(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares);
}

/// The derivative of the loss along `direction` (of length 1) must be its product with `gradient`.
void expect_slope(Net& net, const std::vector<float>& at, const std::vector<float>& gradient,
                  const std::vector<float>& direction,
                  const std::function<void(const std::vector<float>&)>& write,
                  const std::string& what) {
  const float h = 1e-3f;  // beyond it, maxima change hands and ReLUs switch
  double losses[2], expected = 0;
  for (const int side : {0, 1}) {
    std::vector<float> moved = at;
    for (std::size_t i = 0; i < at.size(); ++i) moved[i] += (side ? h : -h) * direction[i];
    write(moved);
    losses[side] = net.forward();
  }
  write(at);
  for (std::size_t i = 0; i < at.size(); ++i) expected += double{gradient[i]} * direction[i];
  EXPECT_NEAR((losses[1] - losses[0]) / (2 * h), expected, 0.02 * norm(gradient) + 3e-4) << what;
}

void expect_gradient(Net& net, const std::vector<float>& at, const std::vector<float>& gradient,
                     const std::function<void(const std::vector<float>&)>& write,
                     const std::string& what) {
  ASSERT_EQ(at.size(), gradient.size()) << what;
  ASSERT_GT(norm(gradient), 1e-3) << what;
  std::vector<std::vector<float>> directions = {gradient};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    directions.push_back(random_values(static_cast<std::int64_t>(at.size()), 500 + seed));
  }
  for (std::vector<float>& direction : directions) {
    const auto length = static_cast<float>(norm(direction));
    for (float& value : direction) value /= length;
    expect_slope(net, at, gradient, direction, write, what);
  }
}

TEST(GradientsTest, OfAWholeNetAreThoseOfFiniteDifferences) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    NetOptions options;
    options.state = state_of(caffe::TRAIN);
    options.backward = true;
    options.expose_gradients = true;
    options.seed = 3;
    Net net(net_of(kLeNet), *device, options);
    const std::vector<float> data = random_values(net.shape("data").count(), 1);
    net.write_blob("data", data);
    net.write_blob("label", random_labels(4, 5, 2));
    net.forward();
    net.clear_gradients();
    net.backward();
    expect_gradient(
        net, data, net.read_gradient("data"),
        [&](const auto& values) { net.write_blob("data", values); }, "data");
    for (const Parameter& parameter : net.parameters()) {
      const auto write = [&](const std::vector<float>& values) {
        net.write_param(parameter.layer, parameter.index, values);
      };
      expect_gradient(
          net, net.read_params(parameter.layer)[static_cast<std::size_t>(parameter.index)],
          net.read_param_gradient(parameter.layer, parameter.index), write, parameter.layer);
    }
  }
}

}  // namespace
}  // namespace crema
