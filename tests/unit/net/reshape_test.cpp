#include "net/executor.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

const std::string kImages = input_layer("x", "2x2x8x8") + input_layer("y", "2x3") + R"(
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "p" type: "Pooling" bottom: "c" top: "p"
  pooling_param { pool: AVE global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "p" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "l" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "l" })";

NetOptions trained() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  return options;
}

std::vector<float> gradients(Net& net) {
  net.clear_gradients();
  net.forward();
  net.backward();
  return net.read_param_gradient("c", 0);
}

TEST(ReshapeTest, EveryShapeGivesWhatANetOfThatShapeGives) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  for (const Shape& shape : {Shape{2, 2, 8, 8}, Shape{3, 2, 10, 6}, Shape{2, 2, 8, 8},
                             Shape{1, 2, 5, 5}, Shape{3, 2, 10, 6}}) {
    net.reshape({{"x", shape}, {"y", Shape{shape[0], 3}}});
    std::string text = kImages;
    text.replace(0, text.find("layer { name: \"c\""),
                 input_layer("x", shape.str()) + input_layer("y", Shape{shape[0], 3}.str()));
    Net fresh(net_of(text), *device, trained());
    for (Net* each : {&net, &fresh}) {
      each->write_blob("x", random_values(shape.count(), 1));
      each->write_blob("y", random_values(3 * shape[0], 2));
    }
    EXPECT_EQ(net.shape("p"), fresh.shape("p"));
    EXPECT_FLOAT_EQ(net.forward(), fresh.forward());
    expect_near(gradients(net), gradients(fresh), 1e-5, shape.str());
  }
}

TEST(ReshapeTest, PlansAreKeptForShapesThatComeBack) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  const Executor* first = &net.executor();
  net.reshape({{"x", Shape{4, 2, 8, 8}}, {"y", Shape{4, 3}}});
  const Executor* second = &net.executor();
  EXPECT_NE(first, second);
  net.reshape({{"x", Shape{2, 2, 8, 8}}, {"y", Shape{2, 3}}});
  EXPECT_EQ(&net.executor(), first);
  net.reshape({{"x", Shape{4, 2, 8, 8}}, {"y", Shape{4, 3}}});
  EXPECT_EQ(&net.executor(), second);
}

TEST(ReshapeTest, ManyShapesDoNotPileUp) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  std::size_t bytes = 0;
  for (int size = 40; size > 4; --size) {
    net.reshape({{"x", Shape{2, 2, size, size}}});
    net.forward();
    if (size == 30) bytes = device->bytes_allocated();
  }
  EXPECT_LE(device->bytes_allocated(), bytes);
}

TEST(ReshapeTest, OtherInputsKeepTheirValues) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  net.write_blob("y", {1, 2, 3, 4, 5, 6});
  net.reshape({{"x", Shape{2, 2, 9, 9}}});
  EXPECT_EQ(net.read_blob("y"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(ReshapeTest, AShapeThatIsRefusedChangesNothing) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  net.write_blob("x", random_values(net.shape("x").count(), 1));
  net.write_blob("y", random_values(6, 2));
  const float before = net.forward();
  EXPECT_NE(error_of([&] { net.reshape({{"x", Shape{2, 2, 2, 2}}}); }), "");  // below the kernel
  EXPECT_NE(error_of([&] { net.reshape({{"x", Shape{2, 3, 8, 8}}}); }), "");  // other channels
  EXPECT_NE(error_of([&] { net.reshape({{"x", Shape{3, 2, 8, 8}}}); }), "");  // batches differ
  EXPECT_EQ(net.shape("x"), (Shape{2, 2, 8, 8}));
  EXPECT_EQ(net.forward(), before);
  net.reshape({{"y", Shape{2, 3}}});  // the refused shapes are forgotten
  EXPECT_EQ(net.forward(), before);
}

TEST(ReshapeTest, ParametersAndTheirGradientsStay) {
  const auto device = make_cpu_device(1);
  Net net(net_of(kImages), *device, trained());
  net.write_blob("x", random_values(net.shape("x").count(), 1));
  net.write_blob("y", random_values(6, 2));
  const std::vector<float> before = gradients(net);
  const auto params = net.read_params("c");
  net.reshape({{"x", Shape{2, 2, 6, 12}}});
  EXPECT_EQ(net.read_params("c"), params);
  EXPECT_EQ(net.read_param_gradient("c", 0), before);
}

}  // namespace
}  // namespace crema
