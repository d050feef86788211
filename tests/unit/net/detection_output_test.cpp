// DetectionOutput in a net: how many rows it has differs from pass to pass.
#include "support.h"

namespace crema {
namespace {

using namespace testing;

TEST(DetectionOutputTest, RowsFollowTheData) {
  const auto device = make_cpu_device(1);
  NetOptions options;
  options.state = state_of(caffe::TEST);
  options.keep_all = true;
  Net net(net_of(input_layer("conv", "1x4x1x2") + input_layer("image", "1x3x4x8") +
                 input_layer("scores", "1x4") + R"(
layer { name: "loc" type: "Permute" bottom: "conv" top: "loc"
  permute_param { order: 0 order: 2 order: 3 order: 1 } }
layer { name: "flat" type: "Flatten" bottom: "loc" top: "flat" }
layer { name: "priors" type: "PriorBox" bottom: "conv" bottom: "image" top: "priors"
  prior_box_param { min_size: 4 } }
layer { name: "found" type: "DetectionOutput" bottom: "flat" bottom: "scores" bottom: "priors"
  top: "found"
  detection_output_param { num_classes: 2 confidence_threshold: 0.5
    variance_encoded_in_target: true } }
layer { name: "twice" type: "Power" bottom: "found" top: "twice" power_param { scale: 2 } })"),
          *device, options);
  // The image is two squares side by side; the second box moves down by its height.
  net.write_blob("conv", {0, 0, 0, 1, 0, 0, 0, 1});
  net.write_blob("image", std::vector<float>(96));
  const std::vector<std::pair<std::vector<float>, std::vector<float>>> passes = {
      {{0, 0.75F, 0, 1}, {0, 2, 2, 1, 2, 2, 4, 0, 2, 1.5F, 0, 0, 1, 2}},
      {{0, 0.25F, 0, 1}, {0, 2, 2, 1, 2, 2, 4}},
      {{0, 0, 0, 0}, {0, -2, -2, -2, -2, -2, -2}},
      {{0, 1, 0, 0}, {0, 2, 2, 0, 0, 1, 2}},
  };
  for (const auto& [scores, twice] : passes) {
    net.write_blob("scores", scores);
    net.forward();
    EXPECT_EQ(net.read_blob("twice"), twice);
    EXPECT_EQ(net.shape("found"), Shape({1, 1, static_cast<std::int64_t>(twice.size()) / 7, 7}));
  }
}

}  // namespace
}  // namespace crema
