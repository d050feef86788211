// Fields of NVIDIA's and Intel's Caffe in text and binary nets.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "proto/fork_binary.h"
#include "proto/fork_fields.h"
#include "proto/fork_text.h"
#include "proto/io.h"
#include "proto/text.h"
#include "proto/upgrade.h"
#include "scratch.h"

namespace crema {
namespace {

using google::protobuf::Message;
using google::protobuf::UnknownFieldSet;
using testing::error_of;
using testing::Scratch;

template <class Root = caffe::NetParameter>
std::string treated(const std::string& text, ForkUse* use) {
  return treat_fork_fields(TextMap(text), *Root::descriptor(), use);
}

std::string plain(const caffe::NetParameter& net) {
  caffe::NetParameter copy = net;
  strip_positions(&copy);
  return copy.ShortDebugString();
}

caffe::NetParameter net_of(const std::string& text, UpgradeNotes* notes = nullptr,
                           Dialect dialect = Dialect::kDetect) {
  return parse_net(text, "n.prototxt", notes, {dialect, true});
}

// --- Text.

TEST(ForkText, FieldsOfSpeedAreBlankedInPlace) {
  ForkUse use;
  const std::string text =
      "default_forward_type: FLOAT16  # half\n"
      "layer { name: 'd' type: \"Data\" data_param { threads: 4, cache: true; source: \"cache\" } "
      "}\n"
      "layer { name: \"c\" convolution_param { engine: MKLDNN num_output: 2\n"
      "  conv_algos_override: \"1,\"\n   \"2\" } quantization_param { bw_layer_in: 8 fl: [1, 2] } "
      "}\n"
      "layer < engine: \"MKL2017\" forward_math: FLOAT name: 'x' >";
  const std::string result = treated(text, &use);
  EXPECT_EQ(result.size(), text.size());
  caffe::NetParameter net;
  parse_text(result, "n", &net);
  strip_positions(&net);
  EXPECT_EQ(
      net.ShortDebugString(),
      "layer { name: \"d\" type: \"Data\" data_param { source: \"cache\" } } layer { name: \"c\" "
      "convolution_param { num_output: 2 } } layer { name: \"x\" }");
}

TEST(ForkText, SaysWhatWasIgnoredAndWhere) {
  ForkUse use;
  treated(
      "default_forward_type: FLOAT16\nlayer { data_param { cache: true } }\n"
      "layer { data_param { cache: true } }\nlayer { data_param { cache: true } }\n"
      "layer { data_param { cache: false } }\nlayer { data_param { cache: true } }",
      &use);
  EXPECT_EQ(ignored_sentence(use),
            "ignored, as no result depends on them here: fields of NVIDIA Caffe (NVCaffe): "
            "default_forward_type (line 1), data_param.cache (line 2, line 3, line 4 and 2 more)");
  EXPECT_EQ(ignored_sentence(ForkUse()), "");
}

TEST(ForkText, ValuesWithoutEffectAreNotRefused) {
  for (const char* text :
       {"layer { data_param { shuffle: false } }", "layer { data_param { shuffle: 0 } }",
        "layer { transform_param { crop_h: 0 vertical_stretch_lower: 1.0 } }",
        "layer { pooling_param { avg_include_pad: True } }",
        "layer { pooling_param { torch_pooling: f } }", "bn_stats_batch_size: 0",
        "layer { convolution_param { fusion_type: NONE_FUSION } }"}) {
    EXPECT_EQ(error_of([&] { net_of(text); }), "") << text;
  }
  Scratch scratch;
  const auto solver = [&](const std::string& text) {
    return error_of([&] { read_solver(scratch.write("s", text), nullptr, {{}, true}); });
  };
  EXPECT_EQ(
      solver("eval_type: \"classification\" larc: false larc_eta: 0.1 momentum_policy: 'fixed'"),
      "");
  EXPECT_EQ(solver("eval_type: \"detection\""),
            scratch.path("s") +
                ":1:1: unknown field \"eval_type\" in a solver; it is a field of NVIDIA Caffe "
                "(NVCaffe) and Intel Caffe that changes results and is not supported (detection is "
                "not scored)");
}

TEST(ForkText, RefusedFieldsNameTheirLine) {
  EXPECT_EQ(
      error_of([] {
        net_of(
            "layer { name: \"p\" type: \"Pooling\"\n pooling_param { avg_include_pad: false } }");
      }),
      "n.prototxt:2:18: layer \"p\" (Pooling): unknown field \"avg_include_pad\" in "
      "pooling_param; it is a field of Intel Caffe that changes results and is not supported "
      "(averages over the image alone)");
}

TEST(ForkText, CeilModeBecomesRoundMode) {
  UpgradeNotes notes;
  const auto net = net_of(
      "layer { name: \"a\" pooling_param { ceil_mode: false } }\n"
      "layer { name: \"b\" pooling_param { ceil_mode: true } }\n"
      "layer { name: \"c\" pooling_param { round_below: true } }\n"
      "layer { name: \"d\" pooling_param { round_below: false } }",
      &notes);
  EXPECT_EQ(net.layer(0).pooling_param().round_mode(), caffe::PoolingParameter::FLOOR);
  EXPECT_FALSE(net.layer(1).pooling_param().has_round_mode());
  EXPECT_EQ(net.layer(2).pooling_param().round_mode(), caffe::PoolingParameter::FLOOR);
  EXPECT_FALSE(net.layer(3).pooling_param().has_round_mode());
  EXPECT_EQ(notes, (UpgradeNotes{"pooling_param.ceil_mode: false (line 1) became round_mode: FLOOR",
                                 "pooling_param.round_below: true (line 3) became round_mode: "
                                 "FLOOR"}));
}

TEST(ForkText, OtherNamesAreWrittenAsIntels) {
  ForkUse use;
  EXPECT_EQ(treated<caffe::SolverParameter>("rampup_interval: 5 rampup_lr: 0.1\nnet: \"x\"", &use),
            "warmup_iter: 5 warmup_start_lr: 0.1\nnet: \"x\"");
  EXPECT_EQ(use.notes, (std::vector<std::string>{"rampup_interval (line 1) became warmup_iter",
                                                 "rampup_lr (line 1) became warmup_start_lr"}));
}

TEST(ForkText, RectangularCropsByEitherName) {
  UpgradeNotes notes;
  const auto net = net_of("layer { name: \"d\" transform_param { crop_h: 3 crop_w: 4 } }", &notes);
  EXPECT_EQ(plain(net), "layer { name: \"d\" transform_param { crop_height: 3 crop_width: 4 } }");
  EXPECT_EQ(notes, (UpgradeNotes{"transform_param.crop_h (line 1) became crop_height",
                                 "transform_param.crop_w (line 1) became crop_width"}));
}

TEST(ForkText, WhatComesClosest) {
  const struct {
    const char *field, *names;
  } rows[] = {
      {"resize_param { }", "resize_height and resize_width, or resize_short_side,"},
      {"distort_param { }", "brightness, contrast, saturation and hue"},
      {"expand_param { }", "min_scale below 1"},
      {"random_aspect_ratio_param { }", "max_aspect_ratio, min_scale and max_scale"},
      {"random_resize_param { }", "resize_short_side with min_scale and max_scale"},
      {"img_rand_resize_lower: 256", "resize_short_side with min_scale and max_scale"},
      {"rand_resize_ratio_upper: 2", "min_scale and max_scale"},
      {"vertical_stretch_lower: 0.8", "max_aspect_ratio"},
  };
  for (const auto& row : rows) {
    const std::string error =
        error_of([&] { net_of(std::string("layer { transform_param { ") + row.field + " } }"); });
    const std::size_t note = error.rfind('(');
    ASSERT_NE(note, std::string::npos) << error;
    EXPECT_EQ(error.substr(note, 2 + std::string(row.names).size()),
              std::string("(") + row.names + " ");
    EXPECT_TRUE(error.ends_with("closest)")) << error;
  }
}

TEST(ForkText, WarmingUpByEitherName) {
  const Scratch scratch;
  const std::string path =
      scratch.write("s", "rampup_interval: 5 rampup_lr: 0.125 min_lr: 0.5 plateau_winsize: 3");
  const caffe::SolverParameter solver = read_solver(path, nullptr, {{}, true});
  EXPECT_EQ(solver.warmup_iter(), 5);
  EXPECT_EQ(solver.warmup_start_lr(), 0.125F);
  EXPECT_EQ(solver.min_lr(), 0.5F);
  EXPECT_EQ(solver.plateau_winsize(0), 3);
  EXPECT_EQ(position_of(solver, "warmup_start_lr"), path + ":1");
}

TEST(ForkText, NothingOfCaffesIsTouched) {
  for (const char* text :
       {"",
        "name: \"n\" # engine: MKLDNN\nlayer { name: \"engine: MKLDNN\" lrn_param { engine: CUDNN "
        "} }",
        "layer { recurrent_param { num_output: 3 } loss_param { normalization: NONE } }",
        "layer { unknown_param { engine: MKLDNN threads: 3 } }", "layer { name: \"unfinished",
        "layer { [ext]: 3 cache: 1", "layer { data_param { cache: } }", "}}}}", "a: - b"}) {
    ForkUse use;
    EXPECT_EQ(treated(text, &use), text);
    EXPECT_TRUE(use.ignored.empty());
    EXPECT_EQ(use.told, 0) << text;
  }
}

TEST(ForkText, DeepNestingEnds) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a { ";
  ForkUse use;
  EXPECT_EQ(treated(text, &use), text);
  EXPECT_EQ(treated(std::string(100000, '['), &use), std::string(100000, '['));
  text = "a: ";
  for (int i = 0; i < 100000; ++i) text += "[";
  EXPECT_EQ(treated(text, &use), text);
}

TEST(ForkText, MinervasPhase) {
  const auto net = net_of("layer { name: \"a\" include { phase: MULTI_VIEW } }");
  EXPECT_EQ(net.layer(0).include(0).phase(), caffe::MULTI_VIEW);
}

// --- BatchNorm and ReLU.

TEST(UpgradeForks, NvidiasBatchNorm) {
  UpgradeNotes notes;
  const auto net = net_of(
      "layer { name: \"bn\" type: \"BatchNorm\" bottom: \"x\" top: \"y\" include { phase: TRAIN }\n"
      " param { lr_mult: 0 } param { } param { } param { lr_mult: 2 } param { decay_mult: 3 }\n"
      " batch_norm_param { eps: 0.5\n scale_bias: true scale_filler { value: 4 } bias_filler { "
      "value: "
      "5 } } }\n"
      "layer { name: \"r\" type: \"ReLU\" bottom: \"y\" top: \"y\" }",
      &notes);
  EXPECT_EQ(position_of(net.layer(1)), "n.prototxt:4");
  EXPECT_EQ(
      plain(net),
      "layer { name: \"bn\" type: \"BatchNorm\" bottom: \"x\" top: \"y\" param { lr_mult: 0 "
      "decay_mult: 0 } param { lr_mult: 0 decay_mult: 0 } param { lr_mult: 0 decay_mult: 0 } "
      "include { phase: TRAIN } batch_norm_param { eps: 0.5 } } layer { name: \"bn/scale\" type: "
      "\"Scale\" bottom: \"y\" top: \"y\" param { lr_mult: 2 } param { decay_mult: 3 } include { "
      "phase: TRAIN } scale_param { filler { value: 4 } bias_term: true bias_filler { value: 5 } "
      "} } layer { name: \"r\" type: \"ReLU\" bottom: \"y\" top: \"y\" }");
  EXPECT_EQ(notes,
            UpgradeNotes{"scale and bias of layer \"bn\" became a layer \"bn/scale\" of type "
                         "Scale"});
  EXPECT_EQ(plain(net_of(
                "layer { name: \"bn\" type: \"BatchNorm\" batch_norm_param { scale_bias: false } "
                "top: \"y\" }")),
            "layer { name: \"bn\" type: \"BatchNorm\" top: \"y\" batch_norm_param { } }");
}

TEST(UpgradeForks, IntelsBatchNormHasScaleByDefault) {
  const std::string bn = "layer { name: \"bn\" type: \"BatchNorm\" bottom: \"x\" top: \"y\" } ";
  const std::string scale = "layer { name: \"s\" type: \"Scale\" bottom: \"y\" top: \"y\" } ";
  const std::string relu = "layer { name: \"r\" type: \"ReLU\" bottom: \"y\" top: \"y\" } ";
  EXPECT_EQ(net_of(bn + relu).layer_size(), 2);
  EXPECT_EQ(net_of(bn + relu, nullptr, Dialect::kNvidia).layer_size(), 2);
  const auto net = net_of(bn + relu, nullptr, Dialect::kIntel);
  ASSERT_EQ(net.layer_size(), 3);
  EXPECT_EQ(net.layer(1).name(), "bn/scale");
  EXPECT_TRUE(net.layer(1).scale_param().bias_term());
  EXPECT_FALSE(net.layer(0).has_batch_norm_param());
  EXPECT_EQ(net_of(bn + scale + relu, nullptr, Dialect::kIntel).layer_size(), 3) << "has one";
  // A field that only Intel has tells whose the net is.
  EXPECT_EQ(net_of("engine: \"MKLDNN\" " + bn + relu).layer_size(), 3);
  EXPECT_EQ(net_of("engine: \"MKLDNN\" " + bn + relu, nullptr, Dialect::kBvlc).layer_size(), 2);
  EXPECT_EQ(
      net_of("engine: \"MKLDNN\" reduce_buckets: 2 " + bn, nullptr, Dialect::kNvidia).layer_size(),
      1);
  // Of both, or a field that Crema has as well: that says nothing of BatchNorm.
  EXPECT_EQ(net_of("engine: \"MKLDNN\" reduce_buckets: 2 " + bn).layer_size(), 1);
  EXPECT_EQ(net_of("layer { convolution_param { relu: false } } " + bn).layer_size(), 2);
}

TEST(UpgradeForks, IntelsBatchNormSaysWhatItHas) {
  const auto net = net_of(
      "layer { name: \"a\" type: \"BatchNorm\" top: \"a\" batch_norm_param { use_weight_bias: "
      "false } }"
      "layer { name: \"b\" type: \"BatchNorm\" top: \"b\" batch_norm_param { use_weight_bias: true "
      "bias_term: false filler { value: 2 } bias_filler { value: 3 } } }");
  ASSERT_EQ(net.layer_size(), 3);
  EXPECT_EQ(net.layer(2).name(), "b/scale");
  EXPECT_FALSE(net.layer(2).scale_param().bias_term());
  EXPECT_EQ(net.layer(2).scale_param().filler().value(), 2);
  EXPECT_FALSE(net.layer(2).scale_param().has_bias_filler());
}

TEST(UpgradeForks, IntelsFusedReLU) {
  UpgradeNotes notes;
  const auto net = net_of(
      "layer { name: \"c\" type: \"Convolution\" bottom: \"x\" bottom: \"z\" top: \"y\" top: "
      "\"w\"\n"
      " convolution_param { num_output: 1 relu: true negative_slope: 0.5 } }\n"
      "layer { name: \"i\" type: \"InnerProduct\" bottom: \"y\" top: \"i\" inner_product_param { "
      "relu: "
      "true } }\n"
      "layer { name: \"b\" type: \"BatchNorm\" bottom: \"i\" top: \"b\" batch_norm_param { relu: "
      "true } }\n"
      "layer { name: \"n\" type: \"Convolution\" bottom: \"b\" top: \"n\" convolution_param { "
      "relu: false "
      "negative_slope: 1 } }",
      &notes);
  EXPECT_EQ(
      plain(net),
      "layer { name: \"c\" type: \"Convolution\" bottom: \"x\" bottom: \"z\" top: \"y\" top: \"w\" "
      "convolution_param { num_output: 1 } } "
      "layer { name: \"c/relu0\" type: \"ReLU\" bottom: \"y\" top: \"y\" relu_param { "
      "negative_slope: 0.5 } } "
      "layer { name: \"c/relu1\" type: \"ReLU\" bottom: \"w\" top: \"w\" relu_param { "
      "negative_slope: 0.5 } } "
      "layer { name: \"i\" type: \"InnerProduct\" bottom: \"y\" top: \"i\" inner_product_param { } "
      "} "
      "layer { name: \"i/relu\" type: \"ReLU\" bottom: \"i\" top: \"i\" } "
      "layer { name: \"b\" type: \"BatchNorm\" bottom: \"i\" top: \"b\" batch_norm_param { } } "
      "layer { name: \"b/relu\" type: \"ReLU\" bottom: \"b\" top: \"b\" } "
      "layer { name: \"n\" type: \"Convolution\" bottom: \"b\" top: \"n\" convolution_param { } }");
  EXPECT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0], "the ReLU of layer \"c\" became a layer \"c/relu0\" of type ReLU");
}

TEST(UpgradeForks, TheNameMustBeFree) {
  EXPECT_EQ(
      error_of([] {
        net_of(
            "layer { name: \"b\" type: \"BatchNorm\" top: \"b\" batch_norm_param { scale_bias: "
            "true "
            "} }\nlayer { name: \"b/scale\" }");
      }),
      "n.prototxt:1: layer \"b\" (BatchNorm) needs a layer \"b/scale\" behind it, but there is one "
      "of that name; rename it");
}

TEST(UpgradeForks, BlobsMoveAlong) {
  const auto net = net_of(
      "layer { name: \"b\" type: \"BatchNorm\" blobs { data: 1 } blobs { data: 2 } blobs { data: 3 "
      "} blobs { "
      "data: 4 } blobs { data: 5 } }"
      "layer { name: \"c\" type: \"BatchNorm\" top: \"c\" blobs { data: 1 } blobs { data: 2 } "
      "blobs { data: "
      "3 } blobs { data: 4 } }");
  EXPECT_EQ(
      plain(net),
      "layer { name: \"b\" type: \"BatchNorm\" blobs { data: 1 } blobs { data: 2 } blobs { data: 3 "
      "} } "
      "layer { name: \"b/scale\" type: \"Scale\" blobs { data: 4 } blobs { data: 5 } scale_param { "
      "bias_term: true } } "
      "layer { name: \"c\" type: \"BatchNorm\" top: \"c\" blobs { data: 1 } blobs { data: 2 } "
      "blobs { "
      "data: 3 } } "
      "layer { name: \"c/scale\" type: \"Scale\" bottom: \"c\" top: \"c\" blobs { data: 4 } "
      "scale_param { bias_term: false } }");
}

// --- Binary files by the numbers of each fork.

UnknownFieldSet* unknown(Message* message) {
  return message->GetReflection()->MutableUnknownFields(message);
}

class ForkBinary : public ::testing::Test {
 protected:
  caffe::NetParameter read(Dialect dialect = Dialect::kDetect) {
    return read_net(scratch_.write("n", net_.SerializeAsString()), &notes_, {dialect, true});
  }
  std::string error(Dialect dialect = Dialect::kDetect) {
    return error_of([&] { read(dialect); });
  }
  std::string file() const { return scratch_.path("n"); }
  /// A layer, so that the file is a net at least.
  caffe::LayerParameter* layer(const char* name, const char* type) {
    caffe::LayerParameter* added = net_.add_layer();
    added->set_name(name);
    added->set_type(type);
    added->add_top(name);
    return added;
  }

  Scratch scratch_;
  caffe::NetParameter net_;
  UpgradeNotes notes_;
};

TEST_F(ForkBinary, RecurrentParamOfNvidia) {
  caffe::RecurrentParameter recurrent;
  recurrent.set_num_output(7);
  unknown(layer("l", "LSTM"))->AddLengthDelimited(151, recurrent.SerializeAsString());
  unknown(&net_)->AddVarint(18, 2);  // reduce_buckets tells whose it is
  unknown(net_.mutable_layer(0))
      ->AddVarint(146, 2);  // backward_type, where BVLC has recurrent_param
  const auto net = read();
  EXPECT_EQ(net.layer(0).recurrent_param().num_output(), 7u);
  EXPECT_TRUE(net.GetReflection()->GetUnknownFields(net).empty());
  EXPECT_TRUE(unknown(net_.mutable_layer(0))->field_count() == 2);
  net_.mutable_layer(0)->mutable_unknown_fields()->Clear();
  unknown(net_.mutable_layer(0))->AddLengthDelimited(151, recurrent.SerializeAsString());
  net_.mutable_unknown_fields()->Clear();
  EXPECT_EQ(read(Dialect::kNvidia).layer(0).recurrent_param().num_output(), 7u);
  EXPECT_FALSE(read(Dialect::kIntel).layer(0).has_recurrent_param());
  EXPECT_EQ(error(), file() +
                         ": layer \"l\": field 151 is recurrent_param to NVIDIA's Caffe and "
                         "mn_activation_param to Intel's; say by --dialect whose it is");
}

TEST_F(ForkBinary, CollidingNumbers) {
  unknown(layer("d", "Data")->mutable_data_param())->AddVarint(11, 1);
  EXPECT_EQ(error(Dialect::kNvidia), "") << "threads";
  EXPECT_TRUE(read(Dialect::kIntel).layer(0).data_param().shuffle());
  EXPECT_EQ(error(), file() +
                         ": layer \"d\": field data_param.11 is threads to NVIDIA's Caffe and "
                         "shuffle to Intel's; say by --dialect whose it is");
  unknown(net_.mutable_layer(0))->AddLengthDelimited(149, "MKLDNN");  // engine, of Intel alone
  EXPECT_EQ(error(), "");
  EXPECT_EQ(error(Dialect::kBvlc), "");
  net_.mutable_layer(0)->mutable_data_param()->mutable_unknown_fields()->Clear();
  unknown(net_.mutable_layer(0)->mutable_data_param())->AddVarint(11, 0);
  EXPECT_EQ(error(), "") << "shuffle: false";
}

TEST_F(ForkBinary, RectangularCrops) {
  auto* unread = unknown(layer("d", "Data")->mutable_transform_param());
  unread->AddVarint(211, 3);  // NVIDIA's
  unread->AddVarint(212, 4);
  EXPECT_EQ(read().layer(0).transform_param().ShortDebugString(), "crop_height: 3 crop_width: 4");
  unread->Clear();
  unread->AddVarint(11, 3);  // Intel's; a resizing to NVIDIA
  unread->AddVarint(12, 4);
  EXPECT_EQ(read(Dialect::kIntel).layer(0).transform_param().ShortDebugString(),
            "crop_height: 3 crop_width: 4");
  EXPECT_EQ(error(Dialect::kNvidia),
            file() +
                ": layer \"d\": transform_param.img_rand_resize_upper of NVIDIA Caffe (NVCaffe) "
                "changes results and is not supported (resize_short_side with min_scale and "
                "max_scale comes closest)");
}

TEST_F(ForkBinary, BothForks) {
  unknown(layer("d", "Data"))->AddLengthDelimited(149, "MKLDNN");
  unknown(&net_)->AddVarint(18, 2);
  EXPECT_EQ(error(),
            file() + ": " + file() +
                " has fields of NVIDIA's and of Intel's Caffe; say by --dialect whose it is");
}

TEST_F(ForkBinary, EnginesAreIgnored) {
  caffe::LayerParameter* conv = layer("c", "Convolution");
  conv->mutable_convolution_param()->set_num_output(2);
  unknown(conv->mutable_convolution_param())->AddVarint(15, 3);  // engine: MKL2017
  const auto net = read();
  EXPECT_EQ(net.layer(0).convolution_param().ShortDebugString(), "num_output: 2");
}

TEST_F(ForkBinary, BatchNormOfEachFork) {
  unknown(layer("b", "BatchNorm")->mutable_batch_norm_param())->AddVarint(7, 1);  // scale_bias
  auto net = read();
  ASSERT_EQ(net.layer_size(), 2);
  EXPECT_EQ(net.layer(1).name(), "b/scale");
  net_.mutable_layer(0)->mutable_batch_norm_param()->mutable_unknown_fields()->Clear();
  unknown(net_.mutable_layer(0)->mutable_batch_norm_param())->AddVarint(5, 0);  // use_weight_bias
  EXPECT_EQ(read().layer_size(), 1);
  caffe::FillerParameter filler;
  filler.set_value(6);
  net_.mutable_layer(0)->mutable_batch_norm_param()->mutable_unknown_fields()->Clear();
  unknown(net_.mutable_layer(0)->mutable_batch_norm_param())
      ->AddLengthDelimited(7, filler.SerializeAsString());
  net = read();
  ASSERT_EQ(net.layer_size(), 2) << "a field of Intel's, whose default is to scale";
  EXPECT_EQ(net.layer(1).scale_param().filler().value(), 6);
}

TEST_F(ForkBinary, NumbersThatBvlcHasOtherwise) {
  // 13: round_mode, or Intel's avg_include_pad.
  layer("p", "Pooling")->mutable_pooling_param()->set_round_mode(caffe::PoolingParameter::FLOOR);
  EXPECT_EQ(read().layer(0).pooling_param().round_mode(), caffe::PoolingParameter::FLOOR);
  EXPECT_FALSE(read(Dialect::kIntel).layer(0).pooling_param().has_round_mode());
  net_.mutable_layer(0)->mutable_pooling_param()->set_round_mode(caffe::PoolingParameter::CEIL);
  EXPECT_EQ(error(Dialect::kIntel),
            file() +
                ": layer \"p\": pooling_param.avg_include_pad of Intel Caffe changes results and "
                "is not supported (averages over the image alone)");
  // 3: NONE, or Intel's PRE_FIXED; 4 is its NONE.
  net_.Clear();
  unknown(layer("l", "SoftmaxWithLoss")->mutable_loss_param())->AddVarint(3, 4);
  EXPECT_EQ(read(Dialect::kIntel).layer(0).loss_param().normalization(),
            caffe::LossParameter::NONE);
  net_.mutable_layer(0)->mutable_loss_param()->Clear();
  net_.mutable_layer(0)->mutable_loss_param()->set_normalization(caffe::LossParameter::NONE);
  EXPECT_EQ(error(Dialect::kIntel),
            file() +
                ": layer \"l\": loss_param.PRE_FIXED of Intel Caffe changes results and is not "
                "supported (use normalization: NONE and loss_weight)");
  EXPECT_EQ(read().layer(0).loss_param().normalization(), caffe::LossParameter::NONE);
}

TEST_F(ForkBinary, LayersOfForks) {
  unknown(layer("p", "Normalize"))->AddLengthDelimited(206, "\x08\x01");
  EXPECT_EQ(error(), file() +
                         ": layer \"p\": norm_param of NVIDIA Caffe (NVCaffe) and Intel Caffe "
                         "changes results and is not supported");
}

TEST_F(ForkBinary, LayersOfSsd) {
  // Both forks have them with the same numbers.
  unknown(layer("p", "Permute"))->AddLengthDelimited(202, "\x08\x02");
  EXPECT_EQ(read().layer(0).permute_param().order(0), 2U);
  net_.Clear();
  auto* unread = unknown(layer("d", "DetectionOutput")->mutable_detection_output_param());
  unread->AddVarint(10, 1);
  unread->AddLengthDelimited(12, "video.avi");
  const caffe::NetParameter net = read();
  EXPECT_TRUE(
      unknown(const_cast<caffe::DetectionOutputParameter*>(&net.layer(0).detection_output_param()))
          ->empty());
}

TEST(ForkTable, Dialects) {
  EXPECT_EQ(parse_dialect("nvidia"), Dialect::kNvidia);
  EXPECT_EQ(error_of([] { parse_dialect("amd"); }),
            "the dialect is detect, bvlc, nvidia or intel, not \"amd\"");
}

TEST(ForkTable, RowsAreNoFieldsOfCaffe) {
  // What Caffe itself has under the same name must not be in the table, but for fields that a fork
  // numbers otherwise.
  const auto& file = *caffe::NetParameter::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) {
    const auto& message = *file.message_type(i);
    for (int j = 0; j < message.field_count(); ++j) {
      const auto& field = *message.field(j);
      for (const ForkField* row : fork_rows(message.name(), field.name())) {
        EXPECT_EQ(row->treatment, Treatment::kConverted) << message.name() << "." << field.name();
        EXPECT_TRUE(field.number() >= 10000 || row->number != field.number()) << field.name();
      }
    }
  }
}

}  // namespace
}  // namespace crema
