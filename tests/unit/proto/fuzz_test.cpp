// Damaged files: whatever happens to the bytes, reading ends in a user error or in success.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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
  fuzz(net().SerializeAsString(), [](const std::string& path) { read_net(path); });
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

TEST(Fuzz, Solver) {
  fuzz("net: \"n\"\nbase_lr: 0.01\nsolver_type: ADAM # x\nnet_param { layers { type: RELU } }",
       [](const std::string& path) { read_solver(path); });
}

}  // namespace
}  // namespace crema
