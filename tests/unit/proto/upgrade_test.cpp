#include "proto/upgrade.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "../base/log_lines.h"
#include "proto/io.h"
#include "proto/text.h"
#include "scratch.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

caffe::NetParameter upgraded(const std::string& text, UpgradeNotes* notes = nullptr) {
  return parse_net(text, "n.prototxt", notes);
}

std::string net_error(const std::string& text) {
  return error_of([&] { upgraded(text); });
}

/// The upgraded net, without positions, must read like `expected`.
void expect_net(const std::string& text, const std::string& expected) {
  caffe::NetParameter actual = upgraded(text), wanted;
  strip_positions(&actual);
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(expected, &wanted));
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(wanted, actual)) << difference;
}

TEST(Upgrade, LeavesTodaysFormAlone) {
  const std::string text =
      "name: \"n\" state { stage: \"x\" } layer { name: \"d\" type: \"Data\" "
      "data_param { scale: 0.5 mirror: true } }";
  UpgradeNotes notes;
  upgraded(text, &notes);
  EXPECT_THAT(notes, IsEmpty());
  expect_net(text, text);
}

// --- V0

TEST(UpgradeV0, WholeNet) {
  expect_net(R"(
name: "v0"
force_backward: true
state { stage: "lost" }
input: "data"
input_dim: 2 input_dim: 3 input_dim: 5 input_dim: 5
layers { layer { name: "pad1" type: "padding" pad: 1 } bottom: "data" top: "pad1" }
layers { layer { name: "conv1" type: "conv" num_output: 4 kernelsize: 3 stride: 2 group: 2
    weight_filler { type: "gaussian" std: 0.01 } bias_filler { type: "constant" value: 0 }
    blobs_lr: 1. blobs_lr: 2. weight_decay: 1. weight_decay: 0. } bottom: "pad1" top: "conv1" }
layers { layer { name: "relu1" type: "relu" } bottom: "conv1" top: "conv1" }
layers { layer { name: "norm1" type: "lrn" local_size: 3 alpha: 0.5 beta: 0.7 k: 2 } bottom: "conv1" top: "norm1" }
layers { layer { name: "pool1" type: "pool" pool: AVE kernelsize: 2 stride: 1 pad: 1 } bottom: "norm1" top: "pool1" }
layers { layer { name: "drop" type: "dropout" dropout_ratio: 0.2 } bottom: "pool1" top: "pool1" }
layers { layer { name: "fc" type: "innerproduct" num_output: 3 biasterm: false } bottom: "pool1" top: "fc" }
layers { layer { name: "cat" type: "concat" concat_dim: 2 } bottom: "fc" bottom: "fc" top: "cat" }
layers { layer { name: "prob" type: "softmax" } bottom: "cat" top: "prob" }
)",
             R"(
name: "v0"
force_backward: true
layer { name: "input" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 5 dim: 5 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  convolution_param { num_output: 4 kernel_size: 3 stride: 2 group: 2 pad: 1
    weight_filler { type: "gaussian" std: 0.01 } bias_filler { type: "constant" value: 0 } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "norm1" type: "LRN" bottom: "conv1" top: "norm1" lrn_param { local_size: 3 alpha: 0.5 beta: 0.7 k: 2 } }
layer { name: "pool1" type: "Pooling" bottom: "norm1" top: "pool1" pooling_param { pool: AVE kernel_size: 2 stride: 1 pad: 1 } }
layer { name: "drop" type: "Dropout" bottom: "pool1" top: "pool1" dropout_param { dropout_ratio: 0.2 } }
layer { name: "fc" type: "InnerProduct" bottom: "pool1" top: "fc" inner_product_param { num_output: 3 bias_term: false } }
layer { name: "cat" type: "Concat" bottom: "fc" bottom: "fc" top: "cat" concat_param { concat_dim: 2 } }
layer { name: "prob" type: "Softmax" bottom: "cat" top: "prob" }
)");
}

TEST(UpgradeV0, DataLayers) {
  expect_net(R"(
layers { layer { name: "d" type: "data" source: "db" batchsize: 5 rand_skip: 2 scale: 0.5 meanfile: "m" cropsize: 7 mirror: true } top: "a" }
layers { layer { name: "h" type: "hdf5_data" source: "list" batchsize: 6 } top: "b" }
layers { layer { name: "i" type: "images" source: "list" batchsize: 8 rand_skip: 3 shuffle_images: true new_height: 9 new_width: 10 } top: "c" }
layers { layer { name: "w" type: "window_data" source: "w.txt" batchsize: 4 det_fg_threshold: 0.6 det_bg_threshold: 0.3
  det_fg_fraction: 0.2 det_context_pad: 16 det_crop_mode: "square" } top: "e" }
layers { layer { name: "g" type: "infogain_loss" source: "H" } bottom: "a" bottom: "b" }
layers { layer { name: "o" type: "hdf5_output" hdf5_output_param { file_name: "out" } } bottom: "a" bottom: "b" }
)",
             R"(
layer { name: "d" type: "Data" top: "a" data_param { source: "db" batch_size: 5 rand_skip: 2 }
  transform_param { scale: 0.5 mean_file: "m" crop_size: 7 mirror: true } }
layer { name: "h" type: "HDF5Data" top: "b" hdf5_data_param { source: "list" batch_size: 6 } }
layer { name: "i" type: "ImageData" top: "c" image_data_param { source: "list" batch_size: 8 rand_skip: 3 shuffle: true new_height: 9 new_width: 10 } }
layer { name: "w" type: "WindowData" top: "e" window_data_param { source: "w.txt" batch_size: 4 fg_threshold: 0.6
  bg_threshold: 0.3 fg_fraction: 0.2 context_pad: 16 crop_mode: "square" } }
layer { name: "g" type: "InfogainLoss" bottom: "a" bottom: "b" infogain_loss_param { source: "H" } }
layer { name: "o" type: "HDF5Output" bottom: "a" bottom: "b" hdf5_output_param { file_name: "out" } }
)");
}

TEST(UpgradeV0, TypesWithoutParameters) {
  const std::pair<const char*, const char*> types[] = {
      {"accuracy", "Accuracy"},
      {"bnll", "BNLL"},
      {"euclidean_loss", "EuclideanLoss"},
      {"flatten", "Flatten"},
      {"im2col", "Im2col"},
      {"multinomial_logistic_loss", "MultinomialLogisticLoss"},
      {"sigmoid", "Sigmoid"},
      {"softmax_loss", "SoftmaxWithLoss"},
      {"split", "Split"},
      {"tanh", "TanH"}};
  for (const auto& [old, today] : types) {
    expect_net(fmt::format("layers {{ layer {{ name: \"x\" type: \"{}\" }} }}", old),
               fmt::format("layer {{ name: \"x\" type: \"{}\" }}", today));
  }
}

TEST(UpgradeV0, Blobs) {
  expect_net("layers { layer { name: \"x\" type: \"conv\" blobs { num: 1 data: 3 } } }",
             "layer { name: \"x\" type: \"Convolution\" blobs { num: 1 data: 3 } }");
}

TEST(UpgradeV0, PositionsMove) {
  const auto net = upgraded(
      "layers {\n layer {\n name: \"p\" type: \"padding\"\n pad: 1 }\n bottom: \"d\" top: \"p\" }\n"
      "layers {\n layer {\n name: \"c\"\n type: \"conv\"\n kernelsize: 3\n"
      " blobs_lr: 1\n weight_filler {\n type: \"xavier\" } }\n bottom: \"p\" }\n");
  ASSERT_EQ(net.layer_size(), 1);
  const auto& conv = net.layer(0);
  EXPECT_EQ(position_of(conv), "n.prototxt:6");
  EXPECT_EQ(position_of(conv, "name"), "n.prototxt:8");
  EXPECT_EQ(position_of(conv, "type"), "n.prototxt:9");
  EXPECT_EQ(position_of(conv, "convolution_param.kernel_size"), "n.prototxt:10");
  EXPECT_EQ(position_of(conv, "convolution_param.pad"), "n.prototxt:4");
  EXPECT_EQ(position_of(conv, "convolution_param.weight_filler.type"), "n.prototxt:13");
  EXPECT_EQ(position_of(conv, "param[0].lr_mult"), "n.prototxt:11");
  EXPECT_EQ(position_of(conv, "bottom[0]"), "n.prototxt:14");
}

TEST(UpgradeV0, Notes) {
  UpgradeNotes notes;
  upgraded("layers {\n layer {\n name: \"r\" type: \"relu\"\n stride: 2 } }", &notes);
  EXPECT_THAT(notes,
              ElementsAre("n.prototxt:4: layer \"r\": \"stride\" was dropped, as layers of type "
                          "\"relu\" do not use it",
                          "1 layer of the V0 form (`layers { layer { … } }`) became V1",
                          "1 layer of the V1 form (`layers`) became `layer`"));
}

TEST(UpgradeV0, PaddingThatNobodyReadsIsSaidToBeDropped) {
  UpgradeNotes notes;
  const auto net = upgraded(
      "layers { layer { name: \"p\" type: \"padding\" pad: 1 } bottom: \"d\" top: \"p\" }", &notes);
  EXPECT_EQ(net.layer_size(), 0);
  ASSERT_GE(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "n.prototxt:1: layer \"p\": this padding layer was dropped, as no layer reads it");
}

TEST(UpgradeV0, Errors) {
  EXPECT_EQ(net_error("layers {\n layer {\n name: \"x\"\n type: \"convolution\" } }"),
            "n.prototxt:4: layer \"x\": unknown type \"convolution\" of a V0 layer");
  EXPECT_EQ(net_error("layers { layer { name: \"x\" type: \"inerproduct\" } }"),
            "n.prototxt:1: layer \"x\": unknown type \"inerproduct\" of a V0 layer; did you mean "
            "\"innerproduct\"?");
  EXPECT_EQ(
      net_error("layers { layer { name: \"p\" type: \"padding\" } bottom: \"d\" top: \"p\" }\n"
                "layers { layer { name: \"r\" type: \"relu\" } bottom: \"p\" }"),
      "n.prototxt:2: layer \"r\": reads padding layer \"p\", but only \"conv\" and \"pool\" "
      "layers can");
  EXPECT_EQ(
      net_error("layers { layer { name: \"p\" type: \"padding\" } bottom: \"d\" top: \"p\" }\n"
                "layers { layer { name: \"c\" type: \"conv\" } bottom: \"p\" bottom: \"d\" }"),
      "n.prototxt:2: layer \"c\": a padding layer and the layer that reads it must have one bottom "
      "each");
  EXPECT_EQ(
      net_error(
          "layers { layer { name: \"c\" type: \"conv\" } }\nlayers { name: \"r\" type: RELU }"),
      "n.prototxt:2: the net mixes V0 layers (`layers { layer { … } }`) with V1 layers");
}

// --- V1

TEST(UpgradeV1, WholeNet) {
  expect_net(R"(
name: "v1"
force_backward: true
state { level: 2 }
input: "data"
input_dim: 2 input_dim: 3 input_dim: 6 input_dim: 6
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2 weight_decay: 3
  param: "w" blob_share_mode: STRICT blob_share_mode: PERMISSIVE
  convolution_param { num_output: 4 kernel_size: 3 } blobs { num: 1 data: 2 } }
layers { name: "loss" type: SOFTMAX_LOSS bottom: "conv1" bottom: "l" top: "loss" loss_weight: 0.5
  include { phase: TRAIN } exclude { stage: "s" } loss_param { ignore_label: 1 } }
layers { name: "none" }
)",
             R"(
name: "v1"
force_backward: true
state { level: 2 }
layer { name: "input" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { name: "w" share_mode: STRICT lr_mult: 1 decay_mult: 3 } param { share_mode: PERMISSIVE lr_mult: 2 }
  convolution_param { num_output: 4 kernel_size: 3 } blobs { num: 1 data: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "conv1" bottom: "l" top: "loss" loss_weight: 0.5
  include { phase: TRAIN } exclude { stage: "s" } loss_param { ignore_label: 1 } }
layer { name: "none" }
)");
}

TEST(UpgradeV1, EveryTypeHasAName) {
  const auto& types = *caffe::V1LayerParameter::LayerType_descriptor();
  for (int i = 0; i < types.value_count(); ++i) {
    const auto type = static_cast<caffe::V1LayerParameter::LayerType>(types.value(i)->number());
    EXPECT_EQ(layer_type_name(type).empty(), type == caffe::V1LayerParameter::NONE)
        << types.value(i)->name();
  }
  EXPECT_EQ(layer_type_name(caffe::V1LayerParameter::HDF5_DATA), "HDF5Data");
  EXPECT_EQ(layer_type_name(caffe::V1LayerParameter::IM2COL), "Im2col");
  EXPECT_EQ(layer_type_name(caffe::V1LayerParameter::SIGMOID_CROSS_ENTROPY_LOSS),
            "SigmoidCrossEntropyLoss");
}

TEST(UpgradeV1, EveryParameterMessageMoves) {
  const auto& old = *caffe::V1LayerParameter::descriptor();
  int moved = 0;
  for (int i = 0; i < old.field_count(); ++i) {
    const auto& field = *old.field(i);
    if (!field.message_type() || field.is_repeated() || field.name() == "layer" ||
        field.name() == "crema_source") {
      continue;
    }
    caffe::NetParameter net;
    auto* layer = net.add_layers();
    layer->GetReflection()->MutableMessage(layer, &field);
    upgrade_net(&net);
    const auto* same = caffe::LayerParameter::descriptor()->FindFieldByName(field.name());
    ASSERT_NE(same, nullptr) << field.name();
    EXPECT_TRUE(net.layer(0).GetReflection()->HasField(net.layer(0), same)) << field.name();
    ++moved;
  }
  EXPECT_EQ(moved, 30);
}

TEST(UpgradeV1, Transformations) {
  for (const auto& [type, name, today] :
       {std::tuple("DATA", "data_param", "Data"),
        std::tuple("IMAGE_DATA", "image_data_param", "ImageData"),
        std::tuple("WINDOW_DATA", "window_data_param", "WindowData")}) {
    expect_net(
        fmt::format(
            "layers {{ name: \"d\" type: {} {} {{ source: \"s\" scale: 0.5 mean_file: \"m\" "
            "crop_size: 3 mirror: true }} transform_param {{ scale: 2 force_gray: true }} }}",
            type, name),
        fmt::format("layer {{ name: \"d\" type: \"{}\" {} {{ source: \"s\" }} transform_param {{ "
                    "scale: 0.5 mean_file: \"m\" crop_size: 3 mirror: true force_gray: true }} }}",
                    today, name));
  }
  const auto net = upgraded("layers { type: DATA\ndata_param {\nscale: 2 } }");
  EXPECT_EQ(position_of(net.layer(0), "transform_param.scale"), "n.prototxt:3");
}

TEST(UpgradeV1, TodaysFormHasSuchFieldsInVain) {
  const auto warnings_of = [](const std::string& text, const ReadOptions& options = {}) {
    const testing::LogLines log;
    parse_net(text, "n.prototxt", nullptr, options);
    return log.warnings;
  };
  const std::string one = "layer { type: \"Data\"\ndata_param {\ncrop_size: 3 } }";
  EXPECT_THAT(warnings_of(one),
              ElementsAre("n.prototxt:3: data_param.crop_size has no effect in a `layer` (as in "
                          "Caffe); write transform_param { crop_size }"));
  EXPECT_THAT(warnings_of(one, {Dialect::kDetect, true}), ElementsAre());
  EXPECT_THAT(
      warnings_of("layer { type: \"ImageData\"\nimage_data_param { scale: 2\nmirror: true } }\n"
                  "layer { type: \"WindowData\" window_data_param { scale: 2\nmirror: false\n"
                  "mean_file: \"m\" } }"),
      ElementsAre("n.prototxt:2: image_data_param.scale, n.prototxt:3: image_data_param.mirror, "
                  "n.prototxt:6: window_data_param.mean_file, n.prototxt:5: "
                  "window_data_param.mirror have no effect in a `layer` (as in Caffe); write "
                  "transform_param { scale mirror mean_file }"));
  EXPECT_THAT(warnings_of("layers { type: DATA data_param { scale: 2 crop_size: 3 } }\n"),
              ElementsAre());
  EXPECT_THAT(warnings_of("layer { type: \"WindowData\" window_data_param { scale: 2 } }\n"
                          "layer { type: \"Data\" transform_param { scale: 2 } }"),
              ElementsAre());
}

TEST(UpgradeV1, PositionsMove) {
  const auto net = upgraded(
      "layers {\n name: \"c\"\n type: CONVOLUTION\n param: \"w\"\n blobs_lr: 1\n blobs_lr: 2\n"
      " weight_decay: 1\n convolution_param {\n pad: 1 } }");
  const auto& conv = net.layer(0);
  EXPECT_EQ(position_of(conv), "n.prototxt:1");
  EXPECT_EQ(position_of(conv, "type"), "n.prototxt:3");
  EXPECT_EQ(position_of(conv, "param[0].name"), "n.prototxt:4");
  EXPECT_EQ(position_of(conv, "param[1].lr_mult"), "n.prototxt:6");
  EXPECT_EQ(position_of(conv, "param[0].decay_mult"), "n.prototxt:7");
  EXPECT_EQ(position_of(conv, "convolution_param.pad[0]"), "n.prototxt:9");
}

TEST(UpgradeV1, MixedWithTodays) {
  EXPECT_EQ(
      net_error("layer { name: \"a\" }\nlayers { name: \"b\" }"),
      "n.prototxt:1: the net mixes `layer` with the old form `layers` (first at n.prototxt:2); run "
      "upgrade-net on the old part first");
}

// --- Inputs

TEST(UpgradeInputs, BothForms) {
  const std::string expected =
      "layer { name: \"input\" type: \"Input\" top: \"a\" top: \"b\" input_param { "
      "shape { dim: 1 dim: 2 dim: 3 dim: 4 } shape { dim: 5 dim: 6 dim: 7 dim: 8 } } } "
      "layer { name: \"r\" } layer { name: \"s\" }";
  expect_net(
      "input: \"a\" input: \"b\" input_dim: [1, 2, 3, 4, 5, 6, 7, 8] layer { name: \"r\" } layer { "
      "name: "
      "\"s\" }",
      expected);
  expect_net(
      "input: \"a\" input: \"b\" input_shape { dim: [1, 2, 3, 4] } input_shape { dim: [5, 6, 7, 8] "
      "} "
      "layer { name: \"r\" } layer { name: \"s\" }",
      expected);
}

TEST(UpgradeInputs, WithoutSizesAreDropped) {
  UpgradeNotes notes;
  const auto net = upgraded("input: \"a\" layer { name: \"r\" }", &notes);
  EXPECT_EQ(net.input_size(), 0);
  EXPECT_EQ(net.layer_size(), 1);
  EXPECT_THAT(notes, ElementsAre("the net's inputs were dropped, as no sizes are given"));
}

TEST(UpgradeInputs, Errors) {
  EXPECT_EQ(net_error("input: \"a\"\ninput_dim: 1\ninput_dim: 2"),
            "n.prototxt:2: 1 input needs 4 input_dim (four each), but there are 2");
  EXPECT_EQ(net_error("input: \"a\" input: \"b\"\ninput_shape { dim: 1 }"),
            "n.prototxt:2: 2 inputs need 2 input_shape, but there are 1");
}

TEST(UpgradeInputs, Positions) {
  const auto net = upgraded(
      "name: \"n\"\ninput: \"a\"\ninput_dim: 1 input_dim: 1 input_dim: 1 input_dim: 1\n"
      "input: \"b\"\ninput_dim: 1\ninput_dim: 1 input_dim: 1 input_dim: 1");
  EXPECT_EQ(position_of(net.layer(0)), "n.prototxt:2");
  EXPECT_EQ(position_of(net.layer(0), "top[1]"), "n.prototxt:4");
  EXPECT_EQ(position_of(net.layer(0), "input_param.shape[1]"), "n.prototxt:5");
}

// --- BatchNorm

TEST(UpgradeBatchNorm, RatesOfThreeParametersBecomeZero) {
  expect_net(
      "layer { type: \"BatchNorm\" param { lr_mult: 1 } param { } param { lr_mult: 0 decay_mult: 0 "
      "} }",
      "layer { type: \"BatchNorm\" param { lr_mult: 0 decay_mult: 0 } param { lr_mult: 0 "
      "decay_mult: 0 } "
      "param { lr_mult: 0 decay_mult: 0 } }");
  const std::string two = "layer { type: \"BatchNorm\" param { lr_mult: 1 } param { } }";
  expect_net(two, two);
  const std::string other = "layer { type: \"Other\" param { } param { } param { } }";
  expect_net(other, other);
}

// --- Solvers

TEST(UpgradeSolver, Type) {
  const std::pair<const char*, const char*> types[] = {
      {"SGD", "SGD"},         {"NESTEROV", "Nesterov"}, {"ADAGRAD", "AdaGrad"},
      {"RMSPROP", "RMSProp"}, {"ADADELTA", "AdaDelta"}, {"ADAM", "Adam"}};
  for (const auto& [old, today] : types) {
    caffe::SolverParameter solver;
    parse_text(fmt::format("net: \"n\"\nsolver_type: {}", old), "s.prototxt", &solver);
    UpgradeNotes notes;
    upgrade_solver(&solver, &notes);
    EXPECT_EQ(solver.type(), today);
    EXPECT_FALSE(solver.has_solver_type());
    EXPECT_EQ(position_of(solver, "type"), "s.prototxt:2");
    EXPECT_THAT(notes, ElementsAre(fmt::format("solver_type became type: \"{}\"", today)));
  }
  EXPECT_EQ(error_of([] {
              caffe::SolverParameter solver;
              parse_text("type: \"SGD\"\nsolver_type: ADAM", "s.prototxt", &solver);
              upgrade_solver(&solver);
            }),
            "s.prototxt:2: both type and the old solver_type are given; remove solver_type");
}

TEST(UpgradeSolver, NetsInside) {
  caffe::SolverParameter solver;
  parse_text(
      "net_param { layers { type: RELU } } train_net_param { layers { type: TANH } } "
      "test_net_param { layers { type: BNLL } }",
      "s", &solver);
  upgrade_solver(&solver);
  EXPECT_EQ(solver.net_param().layer(0).type(), "ReLU");
  EXPECT_EQ(solver.train_net_param().layer(0).type(), "TanH");
  EXPECT_EQ(solver.test_net_param(0).layer(0).type(), "BNLL");
}

TEST(UpgradeSolver, SnapshotPrefix) {
  const testing::Scratch scratch;
  const auto prefix = [&](const std::string& text) {
    return read_solver(scratch.write("my.solver.prototxt", text)).snapshot_prefix();
  };
  EXPECT_EQ(prefix("net: \"n\""), scratch.path("my.solver"));
  EXPECT_EQ(prefix("snapshot_prefix: \"out/x\""), "out/x");
  EXPECT_EQ(prefix(fmt::format("snapshot_prefix: \"{}\"", scratch.folder())),
            scratch.path("my.solver"));
}

}  // namespace
}  // namespace crema
