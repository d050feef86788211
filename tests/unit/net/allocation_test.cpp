// Every allocation of a net may fail: that is an error, and nothing is lost.
#include "failing_device.h"
#include "random_nets.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

NetOptions trained() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  return options;
}

TEST(AllocationTest, EveryFailureWhileANetIsMadeIsAnErrorWithoutALeak) {
  const caffe::NetParameter definition = net_of(random_net(2));
  int failures = 0;
  for (int failing = 0;; ++failing) {
    FailingDevice device;
    device.fail_at(failing);
    const std::string error = error_of([&] { Net net(definition, device, trained()); });
    EXPECT_EQ(device.bytes_in_use(), 0u);
    if (error.empty()) break;
    EXPECT_NE(error.find("out of memory"), std::string::npos) << error;
    ++failures;
  }
  EXPECT_GE(failures, 5);
}

TEST(AllocationTest, AFailedReshapeLeavesTheNetAsItWas) {
  const std::string text = input_layer("x", "2x2x8x8") + R"(
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "t" type: "TanH" bottom: "c" top: "t" })";
  int failures = 0;
  for (int failing = 0;; ++failing) {
    FailingDevice device;
    Net net(net_of(text), device, trained());
    const std::vector<float> x = random_values(net.shape("x").count(), 1);
    net.write_blob("x", x);
    net.forward();
    const std::vector<float> before = net.read_blob("t");
    device.fail_at(failing);
    const std::string error = error_of([&] { net.reshape({{"x", Shape{9, 2, 12, 12}}}); });
    device.fail_at(-1);
    if (error.empty()) break;
    ++failures;
    EXPECT_EQ(net.shape("x"), (Shape{2, 2, 8, 8}));
    EXPECT_EQ(net.shape("t"), (Shape{2, 8, 6, 6}));
    net.forward();
    EXPECT_EQ(net.read_blob("t"), before);
  }
  EXPECT_GE(failures, 2);
}

TEST(AllocationTest, AnErrorNamesTheLargestParameterOrTop) {
  const std::string text = input_layer("x", "2x2x8x8") + R"(
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "f" type: "InnerProduct" bottom: "c" top: "f"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } })";
  std::string errors;
  for (int failing = 0;; ++failing) {
    FailingDevice device;
    device.fail_at(failing);
    const std::string error = error_of([&] { Net net(net_of(text), device, trained()); });
    if (error.empty()) break;
    errors += error + "\n";
  }
  EXPECT_NE(errors.find("layer \"f\" (InnerProduct): its parameter 0 (3x288, 3.46 KB) is the "
                        "largest of the net: out of memory"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("layer \"c\" (Convolution): its top \"c\" (2x8x6x6, 2.3 KB) is the largest "
                        "of the net: out of memory"),
            std::string::npos)
      << errors;
}

}  // namespace
}  // namespace crema
