// Damaged files: whatever happens to the bytes, reading ends in a user error or in success.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"
#include "proto/io.h"
#include "proto/solver_state.h"
#include "proto/text.h"
#include "proto/weights.h"
#include "scratch.h"

namespace crema {
namespace {

constexpr int kRounds = 1500;

constexpr const char* kNet = R"(name: "fuzz"
input: "data" input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 4
layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv" blobs_lr: 1 blobs_lr: 2
  convolution_param { num_output: 2 kernel_size: [3, 3] weight_filler { type: "xavier" } }
  blobs { num: 1 channels: 1 height: 2 width: 2 data: [1, 2, 3, 4] } blobs { shape { dim: 2 } data: [1, 2] } }
layers { name: "clip" type: RELU bottom: "conv" top: 'x\n' include { phase: TRAIN stage: "s" } }
)";

/// One to four random changes: a flipped bit, a byte replaced by a telling one, a cut, a repeated
/// piece.
std::string damaged(std::string bytes, std::mt19937* random) {
  const auto below = [&](std::size_t n) { return (*random)() % std::max<std::size_t>(n, 1); };
  static constexpr char kTelling[] = "{}<>\"'\\#:[]\n\x00\xff\x7f\x80";
  for (std::size_t change = 0; change <= below(4) && !bytes.empty(); ++change) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = kTelling[below(sizeof kTelling)];
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(20)));
    }
  }
  return bytes;
}

template <class Read>
void fuzz(const std::string& whole, const Read& read) {
  const testing::Scratch scratch;
  std::mt19937 random(20240229);
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = scratch.write("f", damaged(whole, &random));
    // Anything but a user error makes the test fail or crash.
    testing::error_of([&] { read(path); });
    if (::testing::Test::HasFailure()) return;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = scratch.write("f", whole.substr(0, size));
    testing::error_of([&] { read(path); });
  }
}

caffe::NetParameter net() {
  caffe::NetParameter parsed;
  parse_text(kNet, "n", &parsed);
  strip_positions(&parsed);
  return parsed;
}

TEST(Fuzz, Prototxt) {
  fuzz(kNet, [](const std::string& path) { read_net(path); });
}

TEST(Fuzz, BinaryNet) {
  fuzz(net().SerializeAsString(), [](const std::string& path) {
    read_net(path, nullptr, {{}, true});
  });
}

TEST(Fuzz, Weights) {
  fuzz(net().SerializeAsString(), [](const std::string& path) { read_weights(path); });
}

TEST(Fuzz, TodaysWeights) {
  caffe::NetParameter upgraded = parse_net(kNet, "n");
  strip_positions(&upgraded);
  fuzz(upgraded.SerializeAsString(), [](const std::string& path) { read_weights(path); });
}

TEST(Fuzz, SolverState) {
  caffe::SolverState state;
  parse_text(
      "iter: 3 learned_net: \"x\" history { shape { dim: 2 } data: [1, 2] } "
      "crema_training { seed: 1 data { net: \"train\" } }",
      "s", &state);
  fuzz(state.SerializeAsString(), [](const std::string& path) { read_solver_state(path); });
}

TEST(Fuzz, ForksInText) {
  fuzz(
      "engine: \"MKLDNN\" layer { name: \"b\" type: \"BatchNorm\" top: \"b\" batch_norm_param {\n"
      " use_weight_bias: true relu: 1 engine: MKLDNN bias_filler < value: -1 > } data_param { "
      "cache: 1;"
      " threads: [1, 2], } pooling_param { ceil_mode: false } } # x",
      [](const std::string& path) {
        read_net(path, nullptr, {{}, true});
      });
}

TEST(Fuzz, ForksInBinary) {
  caffe::NetParameter forked = net();
  auto* layer = forked.add_layer();
  forked.clear_layers();
  layer->set_name("b");
  layer->set_type("BatchNorm");
  layer->mutable_batch_norm_param()->mutable_unknown_fields()->AddVarint(7, 1);
  layer->mutable_batch_norm_param()->mutable_unknown_fields()->AddLengthDelimited(
      6, "\x1d\x01\x02\x03\x04");
  layer->mutable_unknown_fields()->AddLengthDelimited(149, "MKLDNN");
  layer->mutable_unknown_fields()->AddVarint(146, 2);
  layer->mutable_loss_param()->mutable_unknown_fields()->AddFixed32(5, 0);
  forked.mutable_unknown_fields()->AddVarint(18, 6);
  const std::string whole = forked.SerializeAsString();
  for (const Dialect dialect : {Dialect::kDetect, Dialect::kNvidia, Dialect::kIntel}) {
    fuzz(whole, [&](const std::string& path) { read_net(path, nullptr, {dialect, true}); });
  }
}

caffe::NetParameter raw_net() {
  caffe::NetParameter raw;
  auto* layer = raw.add_layer();
  layer->set_name("a/b");
  layer->set_type("BatchNorm");
  for (int i = 0; i < 5; ++i) {
    auto* blob = layer->add_blobs();
    blob->mutable_shape()->add_dim(i == 2 ? 1 : 2);
    blob->set_raw_data_type(i);
    constexpr std::size_t kSizes[] = {8, 4, 2, 4, 4};
    blob->set_raw_data(std::string(kSizes[i] * (i == 2 ? 1 : 2), '\x3c'));
  }
  return raw;
}

TEST(Fuzz, RawBlobs) {
  const std::string whole = raw_net().SerializeAsString();
  fuzz(whole, [](const std::string& path) { read_weights(path); });
  fuzz(whole, [](const std::string& path) { read_net(path, nullptr, {{}, true}); });
}

/// Groups and data sets of telling names, some levels deep.
void grow(const hdf5::Handle& group, std::mt19937* random) {
  static const char* const kNames[] = {"0", "1", "2", "00", "a", "10000", "-1", "1x1", "scale"};
  for (int i = static_cast<int>((*random)() % 5); i > 0; --i) {
    const char* name = kNames[(*random)() % std::size(kNames)];
    if (hdf5::exists(group, name)) continue;
    const float values[] = {1, 2};
    switch ((*random)() % 5) {
      case 0:
        hdf5::write_string(group, name, "text");
        break;
      case 1:
        hdf5::write_floats(group, name, Shape{0, 3}, values);
        break;
      case 2:
        hdf5::write_floats(group, name, Shape{2}, values);
        break;
      default:
        grow(hdf5::create_group(group, name), random);
    }
  }
}

TEST(Fuzz, NestedHdf5) {
  const testing::Scratch scratch;
  std::mt19937 random(7);
  int read = 0;
  for (int round = 0; round < 500; ++round) {
    const hdf5::Handle file = hdf5::create_in_memory();
    {
      const Hdf5Lock lock;
      grow(hdf5::create_group(file, "data"), &random);
    }
    const std::string path = scratch.write("f.h5", hdf5::image(file));
    if (testing::error_of([&] { read_weights(path); }).empty()) ++read;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(read, 20);
  EXPECT_LT(read, 480);
}

TEST(Fuzz, Solver) {
  fuzz("net: \"n\"\nbase_lr: 0.01\nsolver_type: ADAM # x\nnet_param { layers { type: RELU } }",
       [](const std::string& path) { read_solver(path); });
}

}  // namespace
}  // namespace crema
