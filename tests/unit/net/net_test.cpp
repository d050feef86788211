#include "net/net.h"

#include <gmock/gmock.h>

#include "net/executor.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

const std::string kProduct =
    "layer { name: \"ip\" type: \"InnerProduct\" bottom: \"x\" top: \"ip\" inner_product_param { "
    "num_output: 1 } }\n";
const std::string kLoss =
    "layer { name: \"loss\" type: \"EuclideanLoss\" bottom: \"ip\" bottom: \"y\" top: \"loss\" }\n";
const std::string kRegression =
    input_layer("x", "2x2") + input_layer("y", "2x1") + kProduct + kLoss;

NetOptions trained() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  return options;
}

/// x = (1 2; 3 4), w = (0.5, -1), b = 0.25, y = (1; -2): ip = (-1.25; -2.25),
/// loss = (2.25^2 + 0.25^2) / 4.
class Regression {
 public:
  explicit Regression(const NetOptions& options = trained())
      : device(make_cpu_device(1)), net(net_of(kRegression), *device, options) {
    net.write_blob("x", {1, 2, 3, 4});
    net.write_blob("y", {1, -2});
    net.write_param("ip", 0, {0.5f, -1});
    net.write_param("ip", 1, {0.25f});
  }

  std::unique_ptr<Device> device;
  Net net;
};

TEST(NetTest, ForwardAndBackwardAreAsByHand) {
  NetOptions options = trained();
  options.keep = {"ip"};
  Regression r(options);
  EXPECT_FLOAT_EQ(r.net.forward(), (2.25f * 2.25f + 0.25f * 0.25f) / 4);
  EXPECT_THAT(r.net.read_blob("ip"), ElementsAre(FloatEq(-1.25f), FloatEq(-2.25f)));
  r.net.clear_gradients();
  r.net.backward();
  // d(ip) = (ip - y) / 2 = (-1.125; -0.125); dW = sum of d(ip) * x.
  EXPECT_THAT(r.net.read_param_gradient("ip", 0), ElementsAre(FloatEq(-1.5f), FloatEq(-2.75f)));
  EXPECT_THAT(r.net.read_param_gradient("ip", 1), ElementsAre(FloatEq(-1.25f)));
}

TEST(NetTest, GradientsAddUpUntilTheyAreCleared) {
  Regression r;
  r.net.clear_gradients();
  for (int i = 0; i < 3; ++i) {
    r.net.forward();
    r.net.backward();
  }
  EXPECT_THAT(r.net.read_param_gradient("ip", 0), ElementsAre(FloatEq(-4.5f), FloatEq(-8.25f)));
  r.net.clear_gradients();
  EXPECT_THAT(r.net.read_param_gradient("ip", 0), ElementsAre(0, 0));
  r.net.forward();
  r.net.backward();
  EXPECT_THAT(r.net.read_param_gradient("ip", 0), ElementsAre(FloatEq(-1.5f), FloatEq(-2.75f)));
}

TEST(NetTest, FinishedGradientsAreRealZeros) {
  Regression r;
  r.net.forward();
  r.net.backward();
  r.net.clear_gradients();
  EXPECT_NE(r.net.parameters()[0].gradient.read()[0], 0);  // stale, but it counts as zero
  r.net.finish_gradients();
  EXPECT_EQ(r.net.parameters()[0].gradient.read()[0], 0);
}

TEST(NetTest, LossWeightsScaleLossAndGradient) {
  std::string text = kRegression;
  text.replace(text.find("top: \"loss\""), 11, "top: \"loss\" loss_weight: 4");
  const auto device = make_cpu_device(1);
  Net net(net_of(text), *device, trained());
  Regression r;
  net.write_blob("x", {1, 2, 3, 4});
  net.write_blob("y", {1, -2});
  net.write_param("ip", 0, {0.5f, -1});
  net.write_param("ip", 1, {0.25f});
  EXPECT_FLOAT_EQ(net.forward(), 4 * r.net.forward());
  EXPECT_FLOAT_EQ(net.read_blob("loss")[0], r.net.read_blob("loss")[0]);
  EXPECT_EQ(net.loss_weight("loss"), 4);
  net.backward();
  EXPECT_FLOAT_EQ(net.read_param_gradient("ip", 1)[0], -5);
}

TEST(NetTest, KnowsItsOutputsInputsAndShapes) {
  Regression r;
  EXPECT_THAT(r.net.outputs(), ElementsAre("loss"));
  EXPECT_THAT(r.net.inputs(), ElementsAre("x", "y"));
  EXPECT_TRUE(r.net.has_blob("ip"));
  EXPECT_FALSE(r.net.has_blob("none"));
  EXPECT_EQ(r.net.shape("ip"), (Shape{2, 1}));
  EXPECT_EQ(r.net.loss_weight("loss"), 1);
  EXPECT_EQ(r.net.loss_weight("ip"), 0);
  ASSERT_EQ(r.net.parameters().size(), 2u);
  EXPECT_EQ(r.net.parameters()[1].layer, "ip");
  EXPECT_EQ(r.net.parameters()[1].index, 1);
  EXPECT_EQ(r.net.parameters()[0].shape, (Shape{1, 2}));
}

TEST(NetTest, AccessErrorsSayWhatThereIs) {
  Regression r;
  r.net.forward();
  EXPECT_EQ(error_of([&] { r.net.read_blob("lost"); }),
            "the net has no blob \"lost\"; did you mean \"loss\"?");
  EXPECT_EQ(error_of([&] { r.net.read_blob("ip"); }),
            "blob \"ip\" was not kept; its memory serves others");
  EXPECT_EQ(error_of([&] { r.net.write_blob("ip", {1, 2}); }), "the net has no input \"ip\"");
  EXPECT_EQ(error_of([&] {
              r.net.write_blob("x", {1, 2});
            }),
            "input \"x\" has shape 2x2, so it takes 4 values, not 2");
  EXPECT_EQ(error_of([&] { r.net.write_param("op", 0, {1}); }),
            "the net has no layer \"op\"; did you mean \"ip\"?");
  EXPECT_EQ(error_of([&] { r.net.write_param("ip", 2, {1}); }),
            "layer \"ip\" has 2 parameters, none 2");
  EXPECT_EQ(error_of([&] { r.net.write_param("ip", 0, {1}); }),
            "parameter 0 of layer \"ip\" has shape 1x2, so it takes 2 values, not 1");
  EXPECT_EQ(error_of([&] { r.net.read_gradient("ip"); }), "blob \"ip\" has no gradient here");
  EXPECT_EQ(error_of([&] { r.net.read_param_gradient("ip", 7); }),
            "layer \"ip\" has 2 parameters, none 7");
  EXPECT_EQ(error_of([&] { r.net.reshape({{"z", Shape{1}}}); }), "the net has no input \"z\"");
}

TEST(NetTest, KeepingWhatIsNotThereIsAnError) {
  NetOptions options = trained();
  options.keep = {"iq"};
  EXPECT_EQ(error_of([&] { Regression r(options); }),
            "the net has no blob \"iq\"; did you mean \"ip\"?");
}

TEST(NetTest, ErrorsWhileRunningNameTheLayer) {
  const auto device = make_cpu_device(1);
  Net net(net_of(input_layer("x", "2x3") + input_layer("label", "2") +
                 "layer { name: \"l\" type: \"SoftmaxWithLoss\" bottom: \"x\" bottom: \"label\" "
                 "top: \"l\" }"),
          *device, trained());
  net.write_blob("label", {1, 3});
  EXPECT_EQ(error_of([&] { net.forward(); }),
            "net.prototxt:3: layer \"l\" (SoftmaxWithLoss): label 3 of item 1 is not in 0..2 "
            "(labels start at 0)");
}

TEST(NetTest, GradientsThatTheUserSetsAreWhereBackwardStarts) {
  NetOptions options = trained();
  options.expose_gradients = true;
  const auto device = make_cpu_device(1);
  Net net(net_of("force_backward: true " + input_layer("x", "2x2") + kProduct), *device, options);
  net.write_blob("x", {1, 2, 3, 4});
  net.write_param("ip", 0, {0.5f, -1});
  net.forward();
  net.write_gradient("ip", {10, 1});
  net.backward();
  EXPECT_THAT(net.read_gradient("x"), ElementsAre(5, -10, 0.5f, -1));
  EXPECT_THAT(net.read_param_gradient("ip", 0), ElementsAre(13, 24));
  // The next forward pass forgets them.
  net.clear_gradients();
  net.forward();
  net.backward();
  EXPECT_THAT(net.read_gradient("x"), ElementsAre(0, 0, 0, 0));
}

TEST(NetTest, InputsKeepTheirValuesBetweenPasses) {
  Regression r;
  const float first = r.net.forward();
  r.net.backward();
  EXPECT_EQ(r.net.forward(), first);
  EXPECT_THAT(r.net.read_blob("x"), ElementsAre(1, 2, 3, 4));
}

TEST(NetTest, CountsItsPasses) {
  Regression r;
  EXPECT_EQ(r.net.passes(), 0u);
  r.net.forward();
  r.net.forward();
  EXPECT_EQ(r.net.passes(), 2u);
  r.net.set_passes(7);
  EXPECT_EQ(r.net.passes(), 7u);
}

TEST(NetTest, DropoutMasksDependOnSeedAndPassAlone) {
  const std::string text =
      input_layer("x", "4x50") + "layer { name: \"d\" type: \"Dropout\" bottom: \"x\" top: \"d\" }";
  const auto device = make_cpu_device(1);
  const auto masks = [&](std::uint64_t seed, std::uint64_t pass) {
    NetOptions options = trained();
    options.seed = seed;
    Net net(net_of(text), *device, options);
    net.write_blob("x", std::vector<float>(200, 1));
    net.set_passes(pass);
    net.forward();
    return net.read_blob("d");
  };
  EXPECT_EQ(masks(1, 3), masks(1, 3));
  EXPECT_NE(masks(1, 3), masks(1, 4));
  EXPECT_NE(masks(1, 3), masks(2, 3));
}

TEST(NetTest, EmptyBlobsDoNoHarm) {
  const auto device = make_cpu_device(1);
  Net net(net_of(input_layer("x", "0x3") +
                 "layer { name: \"r\" type: \"ReLU\" bottom: \"x\" top: \"r\" }"),
          *device, trained());
  EXPECT_EQ(net.forward(), 0);
  EXPECT_TRUE(net.read_blob("r").empty());
  net.reshape({{"x", Shape{1, 3}}});
  net.write_blob("x", {-1, 2, 3});
  net.forward();
  EXPECT_THAT(net.read_blob("r"), ElementsAre(0, 2, 3));
}

TEST(NetTest, ANetWithoutLayersRuns) {
  const auto device = make_cpu_device(1);
  Net net(net_of("name: \"nothing\""), *device, trained());
  EXPECT_EQ(net.forward(), 0);
  net.backward();
  EXPECT_TRUE(net.outputs().empty());
}

TEST(NetTest, MemoryIsAsPlanned) {
  Regression r;
  const MemorySummary memory = r.net.memory();
  EXPECT_EQ(memory.params, 128u);  // two of a cache line each
  EXPECT_EQ(memory.param_gradients, 128u);
  EXPECT_LE(memory.activations, memory.without_sharing);
  EXPECT_EQ(memory.activations, r.net.executor().memory().arena_bytes);
}

}  // namespace
}  // namespace crema
