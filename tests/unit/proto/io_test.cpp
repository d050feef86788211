#include "proto/io.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "proto/text.h"
#include "scratch.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

TEST(ReadNet, TextAndBinaryAreToldApart) {
  const Scratch scratch;
  const std::string text = "\n\nname: \"n\"\nlayers { name: \"r\" type: RELU }";
  const auto from_text = read_net(scratch.write("net.any", text));
  caffe::NetParameter raw;
  parse_text(text, "n", &raw);
  write_binary(raw, scratch.path("net.bin"));
  std::vector<std::string> upgrades;
  const auto from_binary = read_net(scratch.path("net.bin"), &upgrades);
  EXPECT_EQ(upgrades.size(), 1u);
  EXPECT_EQ(from_binary.layer(0).type(), "ReLU");
  EXPECT_FALSE(has_positions(from_binary));
  EXPECT_EQ(print_text(from_text), print_text(from_binary));
  EXPECT_EQ(position_of(from_text.layer(0)), scratch.path("net.any") + ":4");
}

TEST(ReadNet, Errors) {
  const Scratch scratch;
  const auto error = [](const std::string& path) { return error_of([&] { read_net(path); }); };
  EXPECT_EQ(error(scratch.path("none")),
            "cannot open " + scratch.path("none") + ": No such file or directory");
  EXPECT_EQ(error(scratch.folder()), scratch.folder() + " is a folder, not a net");
  EXPECT_EQ(error(scratch.write("empty", "")), scratch.path("empty") + " is empty");
  caffe::SolverState state;
  state.set_iter(1);
  state.add_history()->add_data(1);
  EXPECT_EQ(error(scratch.write("state", state.SerializeAsString())),
            scratch.path("state") + " is a solver state, not a net");
  // A control character in text is still text.
  std::string text = "name: \"n\" # " + std::string(200, 'x') + "\nlayer { \x01 }";
  EXPECT_EQ(error(scratch.write("control", text)),
            scratch.path("control") +
                ":2:9: a character that cannot stand outside a string; was it pasted from a "
                "formatted page "
                "(typographic quotes or dashes)?");
}

TEST(ReadNet, UpgradeErrorsOfBinaryNetsNameTheFile) {
  const Scratch scratch;
  caffe::NetParameter net;
  net.add_layers()->mutable_layer()->set_type("bogus");
  EXPECT_EQ(error_of([&] { read_net(scratch.write("b", net.SerializeAsString())); }),
            scratch.path("b") + ": layer \"\": unknown type \"bogus\" of a V0 layer");
}

TEST(ReadSolver, Errors) {
  const Scratch scratch;
  caffe::NetParameter net;
  net.add_layer()->set_name("x");
  EXPECT_EQ(error_of([&] { read_solver(scratch.write("b", net.SerializeAsString())); }),
            scratch.path("b") +
                " is a net or weights file (NetParameter); a solver is a text file (prototxt)");
  EXPECT_EQ(
      error_of([&] { read_solver(scratch.write("h", "<html></html>")); }),
      scratch.path("h") +
          " is a web page (was the page of the file saved in place of the file?), not prototxt");
}

TEST(WriteText, ReadsBack) {
  const Scratch scratch;
  const auto net = parse_net("name: \"n\" layer { name: \"x\" type: \"ReLU\" }", "n");
  write_text(net, scratch.path("out"));
  EXPECT_EQ(print_text(read_net(scratch.path("out"))), print_text(net));
}

TEST(WriteBinary, FailsWithoutLeavingAnything) {
  const Scratch scratch;
  const std::string path = scratch.path("none/x");
  const std::string error = error_of([&] { write_binary(caffe::NetParameter(), path); });
  EXPECT_NE(error.find("No such file or directory"), std::string::npos) << error;
}

}  // namespace
}  // namespace crema
