#include "proto/text.h"

#include <gtest/gtest.h>

#include <clocale>

#include "proto/io.h"
#include "scratch.h"

namespace crema {
namespace {

using testing::error_of;

caffe::NetParameter net_of(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "n.prototxt", &net);
  return net;
}

std::string net_error(const std::string& text) {
  return error_of([&] { net_of(text); });
}

std::string solver_error(const std::string& text) {
  caffe::SolverParameter solver;
  return error_of([&] { parse_text(text, "s.prototxt", &solver); });
}

// --- Errors: each text is asserted whole.

struct BadText {
  const char* what;
  const char* text;
  const char* error;
};

void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.what; }

class NetErrors : public ::testing::TestWithParam<BadText> {};

TEST_P(NetErrors, SayWhatAndWhere) { EXPECT_EQ(net_error(GetParam().text), GetParam().error); }

const BadText kBadTexts[] = {
    {"a slip",
     "layer {\n  name: \"p\"\n  type: \"Pooling\"\n  pooling_param { kernel_sise: 3 }\n}\n",
     "n.prototxt:4:19: layer \"p\" (Pooling): unknown field \"kernel_sise\" in pooling_param; did "
     "you "
     "mean \"kernel_size\"?"},
    {"the layer's name comes later", "layer { botom: \"x\" name: \"late\" type: \"ReLU\" }",
     "n.prototxt:1:9: layer \"late\" (ReLU): unknown field \"botom\" in a layer; did you mean "
     "\"bottom\"?"},
    {"a layer without a name", "layer { botom: \"x\" }",
     "n.prototxt:1:9: unknown field \"botom\" in a layer; did you mean \"bottom\"?"},
    {"a layer parameter misspelt", "layer { name: \"c\" convolutoin_param { } }",
     "n.prototxt:1:19: layer \"c\": unknown field \"convolutoin_param\" in a layer; did you mean "
     "\"convolution_param\"?"},
    {"another fork's layer", "layer { name: \"c\" center_loss_param { } }",
     "n.prototxt:1:19: layer \"c\": unknown field \"center_loss_param\" in a layer; is the net "
     "made "
     "for a fork of Caffe?"},
    {"a field of two forks", "layer { name: \"p\" type: \"Normalize\"\n norm_param { } }",
     "n.prototxt:2:2: layer \"p\" (Normalize): unknown field \"norm_param\" in a layer; it is a "
     "field "
     "of NVIDIA Caffe (NVCaffe) and Intel Caffe that changes results and is not supported"},
    {"a fork's field within a parameter",
     "layer { name: \"d\" type: \"Data\" transform_param { resize_param { } } }",
     "n.prototxt:1:50: layer \"d\" (Data): unknown field \"resize_param\" in transform_param; it "
     "is "
     "a field of NVIDIA Caffe (NVCaffe) and Intel Caffe that changes results and is not supported "
     "(resize_height and resize_width, or resize_short_side, come closest)"},
    {"old learning rates in a new layer", "layer { name: \"c\" blobs_lr: 1 }",
     "n.prototxt:1:19: layer \"c\": unknown field \"blobs_lr\" in a layer; use `param { lr_mult "
     "decay_mult }`, one for each parameter"},
    {"old weight decay in a new layer", "layer { name: \"c\" weight_decay: 1 }",
     "n.prototxt:1:19: layer \"c\": unknown field \"weight_decay\" in a layer; use `param { "
     "lr_mult "
     "decay_mult }`, one for each parameter"},
    {"a parameter outside of its message", "layer { name: \"c\" group: 2 }",
     "n.prototxt:1:19: layer \"c\": unknown field \"group\" in a layer; it belongs into "
     "convolution_param"},
    {"a missing brace", "layer { name: \"c\" pooling_param { pool: MAX\n  bottom: \"x\" } }",
     "n.prototxt:2:3: layer \"c\": unknown field \"bottom\" in pooling_param; it belongs outside "
     "of "
     "\"pooling_param {\": is a } missing before it?"},
    {"a solver", "base_lr: 0.1",
     "n.prototxt:1:1: unknown field \"base_lr\" in a net; is this a solver? A net was expected"},
    {"a label map", "item { name: \"x\" }",
     "n.prototxt:1:1: unknown field \"item\" in a net; is this a label map?"},
    {"an unknown enumeration value", "layer { name: \"p\" pooling_param { pool: AVG } }",
     "n.prototxt:1:41: layer \"p\": \"AVG\" is not a value of pool; did you mean \"AVE\"?"},
    {"an enumeration value like none", "layer { name: \"p\" pooling_param { pool: SMALLEST } }",
     "n.prototxt:1:41: layer \"p\": \"SMALLEST\" is not a value of pool; there are MAX, AVE, "
     "STOCHASTIC"},
    {"an enumeration number", "layer { name: \"p\" pooling_param { pool: 9 } }",
     "n.prototxt:1:41: layer \"p\": \"9\" is not a value of pool; there are MAX, AVE, STOCHASTIC"},
    {"a fork's enumeration value", "layer { loss_param { normalization: PRE_FIXED } }",
     "n.prototxt:1:37: \"PRE_FIXED\" is not a value of normalization; it is a value of Intel Caffe "
     "that changes results and is not supported (use normalization: NONE and loss_weight)"},
    {"a V1 type written the new way", "layers { name: \"c\" type: Convolution }",
     "n.prototxt:1:26: layer \"c\" (Convolution): unknown V1 layer type \"Convolution\"; did you "
     "mean "
     "\"CONVOLUTION\"?"},
    {"a fork's V1 type", "layers { name: \"c\" type: CONVOLUTION3D }",
     "n.prototxt:1:26: layer \"c\" (CONVOLUTION3D): unknown V1 layer type \"CONVOLUTION3D\"; it is "
     "a "
     "value of the Caffe of C3D that changes results and is not supported"},
    {"a quoted type in a V1 layer", "layers { name: \"b\" type: \"BN\" }",
     "n.prototxt:1:26: layer \"b\" (BN): expected integer or identifier, got: \"BN\"; in an old "
     "`layers` block the type is a name without quotes, such as CONVOLUTION (types that came later "
     "need a `layer` block)"},
    {"a V1 type in a new layer", "layer { name: \"c\" type: INNER_PRODUCT }",
     "n.prototxt:1:25: layer \"c\" (INNER_PRODUCT): expected string, got: INNER_PRODUCT; in a "
     "`layer` "
     "block write type: \"InnerProduct\""},
    {"no quotes", "layer { name: conv }",
     "n.prototxt:1:15: expected string, got: conv; is a quote missing?"},
    {"a field given twice", "layer { name: \"c\"\n type: \"A\"\n type: \"B\" }",
     "n.prototxt:3:2: layer \"c\" (A): \"type\" is given twice"},
    {"an open string", "layer { name: \"conv\n type: \"ReLU\" }",
     "n.prototxt:1:20: layer \"conv\" (ReLU): the string does not end on its line; is a quote "
     "missing?"},
    {"a Windows path", "layer { name: \"d\" image_data_param { source: \"C:\\Users\\x\" } }",
     "n.prototxt:1:51: layer \"d\": a backslash in a string begins an escape sequence, and this is "
     "none; "
     "in paths use / or \\\\"},
    {"typographic quotes",
     "layer { name: \xE2\x80\x9C"
     "c\xE2\x80\x9D }",
     "n.prototxt:1:15: a character that cannot stand outside a string; was it pasted from a "
     "formatted "
     "page (typographic quotes or dashes)?"},
    {"a brace too many", "layer { name: \"c\" }\n}\n", "n.prototxt:2:1: one } too many"},
    {"a brace too few", "name: \"n\"\nlayer {\n  name: \"c\"\n",
     "n.prototxt:2:1: layer \"c\": the file ends before the } of \"layer {\""},
    {"an inner brace too few", "layer {\n  name: \"c\"\n  relu_param {\n",
     "n.prototxt:3:3: layer \"c\": the file ends before the } of \"relu_param {\""},
    {"merge conflict", "name: \"n\"\n<<<<<<< HEAD\nforce_backward: true\n=======\n>>>>>>> b\n",
     "n.prototxt:2:1: a merge-conflict marker was left in the file; choose one side and remove it"},
    {"a web page", "\n<!DOCTYPE html><html></html>",
     "n.prototxt is a web page (was the page of the file saved in place of the file?), not "
     "prototxt"},
    {"a failed download", "404: Not Found",
     "n.prototxt is a web server's \"not found\" answer (the download failed), not prototxt"},
    {"a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
     "n.prototxt is a Git LFS pointer (run `git lfs pull` to get the file itself), not prototxt"},
    {"UTF-16", "\xFF\xFEn", "n.prototxt is UTF-16 text (save it as UTF-8), not prototxt"},
    {"required", "layer {\n  name: \"c\" type: \"Clip\"\n  clip_param { min: 1 }\n}",
     "n.prototxt:3:3: layer \"c\" (Clip): clip_param.max is required but not given"},
    {"a number out of range", "layer { name: \"c\" convolution_param { num_output: -1 } }",
     "n.prototxt:1:51: layer \"c\": expected integer, got: -"},
    {"not a boolean", "force_backward: maybe",
     "n.prototxt:1:17: force_backward takes true or false"},
    {"tabs count as one column", "layer {\n\t\tnam: \"c\"\n}",
     "n.prototxt:2:3: unknown field \"nam\" in a layer; did you mean \"name\"?"},
};
INSTANTIATE_TEST_SUITE_P(Text, NetErrors, ::testing::ValuesIn(kBadTexts));

TEST(Text, SolverErrors) {
  EXPECT_EQ(
      solver_error("layer { }"),
      "s.prototxt:1:1: unknown field \"layer\" in a solver; is this a net? A solver was expected");
  EXPECT_EQ(solver_error("base_lr: 0.1\nlr_polcy: \"step\""),
            "s.prototxt:2:1: unknown field \"lr_polcy\" in a solver; did you mean \"lr_policy\"?");
  EXPECT_EQ(solver_error("larc: true"),
            "s.prototxt:1:1: unknown field \"larc\" in a solver; it is a field of NVIDIA Caffe "
            "(NVCaffe) that changes results and is not supported (layer-wise adaptive rates)");
}

// --- What is accepted.

TEST(Text, AcceptsWhatFilesHave) {
  const auto net = net_of(
      "\xEF\xBB\xBFname : 'two' \"joined\"\r\n# a comment { \"\r\n"
      "layer { name: \"a\" loss_weight: [0.5, 2] include: { phase: 1 } include < phase: TRAIN > "
      "}\r\n"
      "force_backward: True");
  EXPECT_EQ(net.name(), "twojoined");
  EXPECT_TRUE(net.force_backward());
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_EQ(net.layer(0).loss_weight(1), 2);
  EXPECT_EQ(net.layer(0).include(0).phase(), caffe::TEST);
  EXPECT_EQ(position_of(net, "name"), "n.prototxt:1");
  EXPECT_EQ(net.crema_source().field(0).column(), 1);
}

TEST(Text, ReplacesWhatWasThere) {
  caffe::NetParameter net;
  net.set_name("old");
  net.add_layer();
  parse_text("force_backward: true", "n", &net);
  EXPECT_FALSE(net.has_name());
  EXPECT_EQ(net.layer_size(), 0);
}

TEST(Text, NumbersDoNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, locale);
  caffe::SolverParameter solver;
  parse_text("base_lr: 0.5", "s", &solver);
  EXPECT_EQ(solver.base_lr(), 0.5f);
  EXPECT_EQ(print_text(solver), "base_lr: 0.5\n");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Text, PrintsReadably) {
  const auto net = net_of("layer { name: \"数据\" type: \"ReLU\" }");
  EXPECT_EQ(print_text(net), "layer {\n  name: \"数据\"\n  type: \"ReLU\"\n}\n");
}

// --- Positions.

constexpr const char* kPlaced =
    "name: \"n\"\n"
    "layer {\n"
    "  name: \"conv\"\n"
    "  bottom: \"a\"\n"
    "  bottom: \"b\"\n"
    "  convolution_param {\n"
    "    kernel_size: 3\n"
    "    kernel_size: 5\n"
    "    pad: [\n"
    "      1, 2]\n"
    "    weight_filler {\n"
    "      type: \"xavier\" }\n"
    "  }\n"
    "  include { phase: TRAIN }\n"
    "  include { phase: TEST\n"
    "    stage: \"x\" }\n"
    "}\n"
    "layer { name: \"second\" }\n";

TEST(Positions, OfFields) {
  const auto net = net_of(kPlaced);
  const auto& conv = net.layer(0);
  EXPECT_EQ(position_of(conv), "n.prototxt:2");
  EXPECT_EQ(position_of(conv, "name"), "n.prototxt:3");
  EXPECT_EQ(position_of(conv, "bottom[1]"), "n.prototxt:5");
  EXPECT_EQ(position_of(conv, "bottom"), "n.prototxt:4");
  EXPECT_EQ(position_of(conv, "convolution_param"), "n.prototxt:6");
  EXPECT_EQ(position_of(conv, "convolution_param.kernel_size[1]"), "n.prototxt:8");
  EXPECT_EQ(position_of(conv, "convolution_param.pad[1]"), "n.prototxt:9");
  EXPECT_EQ(position_of(conv, "convolution_param.weight_filler.type"), "n.prototxt:12");
  EXPECT_EQ(position_of(conv, "include[1].stage[0]"), "n.prototxt:16");
  EXPECT_EQ(position_of(net.layer(1)), "n.prototxt:18");
  EXPECT_EQ(conv.crema_source().field(0).column(), 3);
}

TEST(Positions, FallBackToWhatIsAround) {
  const auto net = net_of(kPlaced);
  const auto& conv = net.layer(0);
  EXPECT_EQ(position_of(conv, "convolution_param.stride"), "n.prototxt:6");
  EXPECT_EQ(position_of(conv, "convolution_param.stride[3]"), "n.prototxt:6");
  EXPECT_EQ(position_of(conv, "top[0]"), "n.prototxt:2");
  EXPECT_EQ(position_of(caffe::LayerParameter(), "top"), "");
  EXPECT_EQ(position(caffe::SourcePositions()), "");
}

TEST(Positions, OfNetsInSolvers) {
  caffe::SolverParameter solver;
  parse_text("base_lr: 1\nnet_param {\n layer {\n name: \"x\" } }", "s.prototxt", &solver);
  EXPECT_EQ(position_of(solver, "base_lr"), "s.prototxt:1");
  EXPECT_EQ(position_of(solver.net_param()), "s.prototxt:2");
  EXPECT_EQ(position_of(solver.net_param().layer(0)), "s.prototxt:3");
  EXPECT_EQ(position_of(solver.net_param().layer(0), "name"), "s.prototxt:4");
}

TEST(Positions, ListOfMessages) {
  const auto net = net_of("layer: [{\nname: \"a\" }, {\nname: \"b\" }]");
  EXPECT_EQ(position_of(net.layer(1)), "n.prototxt:1");
  EXPECT_EQ(position_of(net.layer(1), "name"), "n.prototxt:3");
}

TEST(Positions, AreNeverWritten) {
  auto net = net_of(kPlaced);
  EXPECT_TRUE(has_positions(net));
  EXPECT_EQ(print_text(net).find("crema_source"), std::string::npos);
  const testing::Scratch scratch;
  write_binary(net, scratch.path("net.bin"));
  caffe::NetParameter again;
  read_binary(scratch.path("net.bin"), &again);
  EXPECT_FALSE(has_positions(again));
  EXPECT_EQ(again.layer(0).name(), "conv");
  EXPECT_TRUE(has_positions(net)) << "the original keeps them";
  strip_positions(&net);
  EXPECT_FALSE(has_positions(net));
  EXPECT_EQ(net.SerializeAsString(), again.SerializeAsString());
}

TEST(Positions, FailAt) {
  EXPECT_EQ(error_of([] { fail_at("n.prototxt:3", "{} is wrong", "this"); }),
            "n.prototxt:3: this is wrong");
  EXPECT_EQ(error_of([] { fail_at("", "this is wrong"); }), "this is wrong");
}

}  // namespace
}  // namespace crema
