// A model as NVIDIA's or Intel's Caffe writes it, made here, as none is published: net and weights
// are converted on the way in and give what the formula says.
#include <gtest/gtest.h>

#include <cmath>

#include "../unit/proto/scratch.h"
#include "net/net.h"
#include "proto/io.h"
#include "proto/weights.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

constexpr const char* kInput =
    "layer { name: \"x\" type: \"Input\" top: \"x\" input_param { shape { dim: 1 dim: 2 dim: 1 "
    "dim: 2 "
    "} } } ";
constexpr const char* kBatchNorm =
    "layer { name: \"conv1/bn\" type: \"BatchNorm\" bottom: \"x\" top: \"y\" batch_norm_param { "
    "eps: 0 ";

/// Mean, variance, factor, scale and (with five) bias.
caffe::NetParameter weights(int blobs) {
  const std::vector<std::vector<float>> values = {{2, 4}, {8, 32}, {2}, {3, 5}, {0.5F, -1}};
  caffe::NetParameter net;
  caffe::LayerParameter* layer = net.add_layer();
  layer->set_name("conv1/bn");
  layer->set_type("BatchNorm");
  for (int i = 0; i < blobs; ++i) {
    caffe::BlobProto* blob = layer->add_blobs();
    const auto& data = values[static_cast<std::size_t>(i)];
    blob->mutable_shape()->add_dim(static_cast<std::int64_t>(data.size()));
    blob->mutable_data()->Add(data.begin(), data.end());
  }
  return net;
}

std::vector<float> run(const std::string& text, const StoredWeights& stored, Dialect dialect) {
  const std::unique_ptr<Device> device = make_cpu_device(1);
  NetOptions options;
  options.state.set_phase(caffe::TEST);
  options.keep_all = true;
  Net net(parse_net(kInput + text, "net.prototxt", nullptr, {dialect, true}), *device, options);
  const Net::LoadReport report = net.load(stored);
  EXPECT_TRUE(report.skipped.empty());
  EXPECT_TRUE(report.missing.empty());
  net.write_blob("x", {1, 3, 6, -2});
  net.forward();
  return net.read_blob("y");
}

TEST(ForkModels, BatchNormWithScaleAndBias) {
  const Scratch scratch;
  // Mean 1 and 2, deviation 2 and 4.
  const std::vector<float> plain = {0, 1, 1, -1};
  for (const char* name : {"w.caffemodel", "w.caffemodel.h5"}) {
    const std::string path = scratch.path(name);
    write_weights(weights(5), path, weight_format(path));
    const StoredWeights stored = read_weights(path);
    const std::vector<float> expected = {0.5F, 3.5F, 4, -6};
    const auto near = [&](const std::vector<float>& found) {
      ASSERT_EQ(found.size(), 4u);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
    };
    near(run(std::string(kBatchNorm) + "scale_bias: true } }", stored, Dialect::kDetect));
    near(run(std::string(kBatchNorm) + "use_weight_bias: true } }", stored, Dialect::kDetect));
    near(run(std::string(kBatchNorm) + "} }", stored, Dialect::kIntel));
    // What was converted once is a net of BVLC's.
    EXPECT_EQ(error_of([&] { run(std::string(kBatchNorm) + "} }", stored, Dialect::kDetect); }),
              path +
                  ": layer \"conv1/bn\": the file holds a scale and bias with it, as NVIDIA's and "
                  "Intel's Caffe do, but the net has no layer \"conv1/bn/scale\" for them "
                  "(batch_norm_param { scale_bias: true } makes one)");
    write_weights(weights(4), path, weight_format(path));
    const std::vector<float> found =
        run(std::string(kBatchNorm) + "use_weight_bias: true bias_term: false } }",
            read_weights(path), Dialect::kDetect);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], plain[i] * (i < 2 ? 3 : 5), 1e-5);
  }
}

TEST(ForkModels, FusedReLUAndSnapshotsWithSlashes) {
  const Scratch scratch;
  const std::string path = scratch.path("w.h5");
  const std::unique_ptr<Device> device = make_cpu_device(1);
  NetOptions options;
  options.state.set_phase(caffe::TEST);
  options.keep_all = true;
  const std::string text = std::string(kInput) +
                           "layer { name: \"a/1x1\" type: \"Convolution\" bottom: \"x\" top: \"y\" "
                           "convolution_param { num_output: "
                           "2 kernel_size: 1 relu: true negative_slope: 0.5 weight_filler { type: "
                           "\"gaussian\" std: 1 } } }";
  options.seed = 1;
  Net from(parse_net(text, "n", nullptr, {{}, true}), *device, options);
  options.seed = 2;
  Net to(parse_net(text, "n", nullptr, {{}, true}), *device, options);
  require_storable(from.definition(), 6, WeightFormat::kHdf5);
  write_weights(from.to_proto(false, true), path, WeightFormat::kHdf5);
  EXPECT_EQ(to.load(read_weights(path)).copied, std::vector<std::string>{"a/1x1"});
  for (Net* net : {&from, &to}) {
    net->write_blob("x", {1, -1, -2, 3});
    net->forward();
  }
  EXPECT_EQ(from.read_blob("y"), to.read_blob("y"));
  const std::vector<float> weight = from.read_params("a/1x1")[0];
  const float sum = weight[0] * 1 + weight[1] * -2;
  EXPECT_NEAR(from.read_blob("y")[0], sum > 0 ? sum : sum / 2, 1e-5);
}

}  // namespace
}  // namespace crema
