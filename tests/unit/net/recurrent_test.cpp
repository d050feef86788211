// The state that LSTM and RNN carry from one forward pass to the next.
#include "support.h"

namespace crema {
namespace {

using namespace testing;

std::string text_of(const std::string& type, const std::string& steps,
                    const std::string& streams = "2") {
  return input_layer("x", steps + "x" + streams + "x3") +
         input_layer("cont", steps + "x" + streams) + "layer { name: \"r\" type: \"" + type +
         R"(" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 4
           weight_filler { type: "uniform" min: -1 max: 1 }
           bias_filler { type: "uniform" min: -1 max: 1 } } })";
}

NetOptions options_of(bool backward) {
  NetOptions options;
  options.state = state_of(caffe::TEST);
  options.backward = backward;
  options.seed = 3;
  return options;
}

std::vector<float> outputs(Net& net, std::vector<float> x, float cont) {
  net.write_blob("x", x);
  net.write_blob("cont",
                 std::vector<float>(static_cast<std::size_t>(net.shape("cont").count()), cont));
  net.forward();
  return net.read_blob("y");
}

class RecurrentTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RecurrentTest, TwoPassesAreOneOfTwiceTheSteps) {
  const auto device = make_cpu_device(1);
  const std::vector<float> x = random_values(6 * 2 * 3, 1);
  const std::vector<float> first(x.begin(), x.begin() + 18), second(x.begin() + 18, x.end());
  Net whole(net_of(text_of(GetParam(), "6")), *device, options_of(false));
  const std::vector<float> expected = outputs(whole, x, 1);
  Net halves(net_of(text_of(GetParam(), "3")), *device, options_of(false));
  std::vector<float> y = outputs(halves, first, 1);
  const std::vector<float> more = outputs(halves, second, 1);
  y.insert(y.end(), more.begin(), more.end());
  expect_near(y, expected, 1e-6, GetParam());
}

TEST_P(RecurrentTest, ContZeroForgets) {
  const auto device = make_cpu_device(1);
  Net net(net_of(text_of(GetParam(), "1")), *device, options_of(true));
  const std::vector<float> x = random_values(6, 1);
  const std::vector<float> first = outputs(net, x, 1);  // from a state of zeros
  EXPECT_NE(outputs(net, x, 1), first);
  EXPECT_EQ(outputs(net, x, 0), first);
}

TEST_P(RecurrentTest, OtherNumbersOfStepsCarryOn) {
  const auto device = make_cpu_device(1);
  const std::vector<float> x = random_values(6 * 2 * 3, 1);
  Net whole(net_of(text_of(GetParam(), "6")), *device, options_of(false));
  const std::vector<float> expected = outputs(whole, x, 1);
  Net net(net_of(text_of(GetParam(), "4")), *device, options_of(false));
  std::vector<float> y = outputs(net, std::vector<float>(x.begin(), x.begin() + 24), 1);
  for (const std::ptrdiff_t step : {4, 5}) {
    net.reshape({{"x", Shape{1, 2, 3}}, {"cont", Shape{1, 2}}});
    const auto begin = x.begin() + 6 * step;
    const std::vector<float> more = outputs(net, std::vector<float>(begin, begin + 6), 1);
    y.insert(y.end(), more.begin(), more.end());
  }
  expect_near(y, expected, 1e-6, GetParam());
}

TEST_P(RecurrentTest, OtherNumbersOfStreamsStartAgain) {
  const auto device = make_cpu_device(1);
  Net net(net_of(text_of(GetParam(), "2")), *device, options_of(false));
  const std::vector<float> x = random_values(12, 1);
  const std::vector<float> first = outputs(net, x, 1);
  net.reshape({{"x", Shape{2, 1, 3}}, {"cont", Shape{2, 1}}});
  const std::vector<float> fewer = outputs(net, random_values(6, 1), 1);
  Net fresh(net_of(text_of(GetParam(), "2", "1")), *device, options_of(false));
  EXPECT_EQ(outputs(fresh, random_values(6, 1), 1), fewer);
  net.reshape({{"x", Shape{2, 2, 3}}, {"cont", Shape{2, 2}}});
  EXPECT_EQ(outputs(net, x, 1), first);
}

TEST_P(RecurrentTest, NetsThatShareParametersHaveStatesOfTheirOwn) {
  const auto device = make_cpu_device(1);
  Net train(net_of(text_of(GetParam(), "2")), *device, options_of(true));
  const std::vector<float> x = random_values(12, 1);
  const std::vector<float> first = outputs(train, x, 1);
  NetOptions options = options_of(false);
  options.share_with = &train;
  Net test(net_of(text_of(GetParam(), "2")), *device, options);
  EXPECT_EQ(outputs(test, x, 1), first);
  EXPECT_NE(outputs(train, x, 1), first);
}

INSTANTIATE_TEST_SUITE_P(Types, RecurrentTest, ::testing::Values("LSTM", "RNN"));

}  // namespace
}  // namespace crema
