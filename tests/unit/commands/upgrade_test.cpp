#include "commands/upgrade.h"

#include <gmock/gmock.h>

#include "../proto/scratch.h"
#include "base/files.h"
#include "commands/describe_net.h"
#include "proto/io.h"
#include "proto/text.h"

namespace crema {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;

constexpr const char* kOld =
    "input: \"x\" input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2\n"
    "layers { name: \"r\" type: RELU bottom: \"x\" top: \"x\" relu_param { engine: CAFFE } }";
constexpr const char* kNew =
    "layer {\n  name: \"input\"\n  type: \"Input\"\n  top: \"x\"\n  input_param {\n    shape {\n"
    "      dim: 1\n      dim: 1\n      dim: 2\n      dim: 2\n    }\n  }\n}\n"
    "layer {\n  name: \"r\"\n  type: \"ReLU\"\n  bottom: \"x\"\n  top: \"x\"\n  relu_param {\n"
    "    engine: CAFFE\n  }\n}\n";

/// What a command prints.
template <class Body>
std::string printed(const Body& body) {
  ::testing::internal::CaptureStdout();
  body();
  return ::testing::internal::GetCapturedStdout();
}

TEST(UpgradeNetTest, WritesTodaysTextAndPrintsWhatChanged) {
  const Scratch scratch;
  const std::string in = scratch.write("in", kOld), out = scratch.path("out.prototxt");
  const std::string text = printed([&] { EXPECT_EQ(upgrade_net_file({in, out, false, {}}), 0); });
  EXPECT_EQ(read_file(out), kNew);
  EXPECT_THAT(text,
              HasSubstr("upgraded: the net's inputs became a layer \"input\" of type Input\n"));
  EXPECT_EQ(printed([&] {
              upgrade_net_file({out, out, false, {}});
            }),
            out + " is up to date; it was left as it is\n");
  EXPECT_EQ(read_file(out), kNew) << "a file may become its own upgrade";
}

TEST(UpgradeNetTest, BinaryByNameOrFlagAndBack) {
  const Scratch scratch;
  const std::string in = scratch.write("in", kOld);
  printed([&] {
    upgrade_net_file({in, scratch.path("a.caffemodel"), false, {}});
    upgrade_net_file({in, scratch.path("b.binaryproto"), false, {}});
    upgrade_net_file({in, scratch.path("c"), true, {}});
    upgrade_net_file({scratch.path("c"), scratch.path("d.prototxt"), false, {}});
  });
  EXPECT_EQ(read_file(scratch.path("a.caffemodel")), read_file(scratch.path("b.binaryproto")));
  EXPECT_EQ(read_file(scratch.path("a.caffemodel")), read_file(scratch.path("c")));
  EXPECT_EQ(read_file(scratch.path("d.prototxt")), kNew);
}

TEST(UpgradeNetTest, OfAnotherCaffe) {
  const Scratch scratch;
  const std::string in = scratch.write(
      "in",
      "reduce_buckets: 2 layer { name: \"b\" type: \"BatchNorm\" bottom: \"x\" top: \"x\" "
      "batch_norm_param { scale_bias: true eps: 0.5 } }");
  const std::string out = scratch.path("out");
  const std::string text = printed([&] { upgrade_net_file({in, out, false, {}}); });
  EXPECT_EQ(text,
            "upgraded: scale and bias of layer \"b\" became a layer \"b/scale\" of type Scale\n");
  caffe::NetParameter net;
  parse_text(read_file(out), out, &net);
  strip_positions(&net);
  EXPECT_EQ(
      net.ShortDebugString(),
      "layer { name: \"b\" type: \"BatchNorm\" bottom: \"x\" top: \"x\" batch_norm_param { eps: "
      "0.5 } } layer { name: \"b/scale\" type: \"Scale\" bottom: \"x\" top: \"x\" scale_param { "
      "bias_term: true } }");
}

TEST(UpgradeNetTest, AnErrorLeavesTheOutputAlone) {
  const Scratch scratch;
  const std::string in = scratch.write("in", "layer { nam: \"x\" }");
  const std::string out = scratch.write("out", "precious");
  EXPECT_THAT(error_of([&] { upgrade_net_file({in, out, false, {}}); }), HasSubstr("\"nam\""));
  EXPECT_EQ(read_file(out), "precious");
}

TEST(UpgradeSolverTest, TypeBecomesAName) {
  const Scratch scratch;
  const std::string path =
      scratch.write("s", "net: \"n\" solver_type: ADAM eval_type: 'classification'");
  EXPECT_EQ(printed([&] {
              upgrade_solver_file({path, path, false, {}});
            }),
            "upgraded: solver_type became type: \"Adam\"\n");
  EXPECT_EQ(read_file(path), "net: \"n\"\ntype: \"Adam\"\n") << "no snapshot_prefix is made up";
}

TEST(DescribeNetTest, WhatWasUpgradedIsInTheLogAlone) {
  const Scratch scratch;
  DescribeOptions options;
  options.device.threads = 1;
  options.model = scratch.write("in", kOld);
  const std::string text = printed([&] { describe_net(options); });
  EXPECT_THAT(text, Not(HasSubstr("upgraded")));
  options.model = scratch.write("bad", std::string(kOld) + " layers { type: RELU bottom: \"y\" }");
  EXPECT_EQ(printed([&] { error_of([&] { describe_net(options); }); }), "");
}

}  // namespace
}  // namespace crema
