// What describe-data prints, and when it exits with 1.
#include "commands/describe_data.h"

#include <gmock/gmock.h>

#include "../data/fixtures.h"
#include "data/batch_reader.h"
#include "data/hdf5_writer.h"
#include "proto/io.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_lmdb;
using testing::noise;
using ::testing::Not;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_png;

struct Description {
  int code = 0;
  std::string text;

  /// From the last "layer {" on: what is to be pasted.
  std::string layer() const { return text.substr(text.rfind("layer {")); }
};

class DescribeData : public ::testing::Test {
 protected:
  DescribeData() : there_(folder_.path()) {}

  Description describe(const std::string& source, const std::string& net = "") {
    DescribeDataOptions options = options_;
    options.source = source;
    if (!net.empty()) {
      write_file("net.prototxt", net);
      options.model = "net.prototxt";
    }
    ::testing::internal::CaptureStdout();
    Description result;
    try {
      result.code = describe_data(options);
    } catch (...) {
      ::testing::internal::GetCapturedStdout();
      throw;
    }
    result.text = ::testing::internal::GetCapturedStdout();
    return result;
  }

  /// 1x4x4, labels 0 to 2 in turn.
  static void make_good(const std::string& path, int records = 12, int first_label = 0) {
    testing::Records all;
    for (int i = 0; i < records; ++i) {
      all.emplace_back(fmt::format("{:04}", i),
                       byte_datum(1, 4, 4, 3 * i, first_label + i % 3).SerializeAsString());
    }
    make_lmdb(path, all);
  }

  /// A net with a Data layer and a loss over `classes`.
  static std::string net(const std::string& data_fields, int classes = 3,
                         const std::string& transform = "", int label_tops = 1) {
    std::string tops;
    for (int i = 1; i < label_tops; ++i) tops += fmt::format(" top: 'more{}'", i);
    return fmt::format(
        "layer {{ name: 'data' type: 'Data' top: 'data' top: 'label'{}\n"
        "  transform_param {{ {} }} data_param {{ {} }} }}\n"
        "layer {{ name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'\n"
        "  inner_product_param {{ num_output: {} }} }}\n"
        "layer {{ name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy'\n"
        "  include {{ phase: TEST }} }}\n"
        "layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' "
        "}}\n",
        tops, transform, data_fields, classes);
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  DescribeDataOptions options_;
};

TEST_F(DescribeData, AGoodSource) {
  make_good("db");
  const Description result = describe("db");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.text,
            "source     db: LMDB (the folder holds data.mdb)\n"
            "records    12, 312 B\n"
            "keys       \"0000\" to \"0011\"\n"
            "stored as  bytes: 12 records\n"
            "size       1x4x4 (channels x height x width)\n"
            "labels     1 a record\n"
            "           whole numbers, 0 to 2, 3 different ones, mean 1\n"
            "           label 0: 4 records, 33.3 %\n"
            "           label 1: 4 records, 33.3 %\n"
            "           label 2: 4 records, 33.3 %\n"
            "values     0 to 48, mean 24, deviation 11.3358\n"
            "\n"
            "A layer that reads it:\n"
            "\n"
            "layer {\n"
            "  name: \"data\"\n"
            "  type: \"Data\"\n"
            "  top: \"data\"\n"
            "  top: \"label\"\n"
            "  transform_param {\n"
            "    mean_value: 24\n"
            "    scale: 0.00390625  # 1 / 256\n"
            "  }\n"
            "  data_param { source: \"db\" backend: LMDB batch_size: 12 }\n"
            "}\n"
            "# labels 0 to 2: the layer before the loss has num_output: 3\n");
}

TEST_F(DescribeData, TheLayerThatItPrintsReadsTheSource) {
  make_good("db");
  boost::filesystem::create_directories("pets/cat");
  boost::filesystem::create_directories("pets/dog");
  write_png("pets/cat/1.png", noise(3, 9, 8, 1));
  write_png("pets/dog/2.png", noise(3, 7, 8, 2));
  write_file("list \"a\".txt", "cat/1.png 0\ndog/2.png 1\n");
  caffe::LayerParameter layer = parse_net(describe("db").layer(), "printed").layer(0);
  EXPECT_EQ(open_data(layer, caffe::TRAIN, 1)->shapes(12)[0], (Shape{12, 1, 4, 4}));

  options_.reading.root = "pets/";
  layer = parse_net(describe("list \"a\".txt").layer(), "printed").layer(0);
  EXPECT_EQ(open_image_list(layer, caffe::TRAIN, 1)->shapes(2)[0], (Shape{2, 3, 7, 7}));
  layer = parse_net(describe("pets").layer(), "printed").layer(0);
  EXPECT_EQ(layer.image_data_param().source(), "pets");

  const std::vector<float> values(12, 1);
  Hdf5Writer writer("a.h5");
  writer.append("data", Shape{3, 2, 2}, values.data());
  writer.append("label", Shape{3}, values.data());
  writer.finish();
  layer = parse_net(describe("a.h5").layer(), "printed").layer(0);
  write_file("a.h5.txt", "a.h5\n");
  EXPECT_EQ(layer.hdf5_data_param().source(), "a.h5.txt");
  const Description list = describe("a.h5.txt");
  EXPECT_THAT(list.text, HasSubstr("source     a.h5.txt: list of HDF5 files (a text whose first "
                                   "name is that of an HDF5 file)\n"
                                   "           a.h5 holds data (32-bit float, 3x2x2), label "
                                   "(32-bit float, 3)\n"
                                   "records    3, 48 B\n"));
  EXPECT_THAT(list.layer(), HasSubstr("hdf5_data_param { source: \"a.h5.txt\" batch_size: 3 }"));
}

TEST_F(DescribeData, WhatIsBroken) {
  testing::Records records;
  for (int i = 0; i < 13; ++i) records.emplace_back(fmt::format("b{:02}", i), "");
  records.emplace_back("c", byte_datum(1, 1, 2, 0, 0).SerializeAsString());
  make_lmdb("db", records);
  Description result = describe("db");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("broken     db: record \"b00\" is empty (0 bytes)\n"
                                     "           db: record \"b01\" is empty (0 bytes)\n"));
  EXPECT_THAT(result.text, HasSubstr("           and 3 more\n\nWRONG  13 of 14 records cannot be "
                                     "read\n"));
  records.pop_back();
  make_lmdb("none", records);
  result = describe("none");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, Not(HasSubstr("layer {")));
  EXPECT_EQ(error_of([&] { describe("nothing"); }),
            "nothing does not exist (in " + folder_.path() + ")");
}

TEST_F(DescribeData, WhatIsOdd) {
  make_good("one", 12, 1);
  Description result = describe("one");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("\nnote   labels start at 1, but classes count from 0: take 1 "
                                     "off, or the net needs 4 outputs\n"));
  testing::Records records;
  for (int i = 0; i < 12; ++i) {
    records.emplace_back(fmt::format("{:02}", i),
                         byte_datum(1, i == 0 ? 9 : 3, 4, i, i < 6 ? -1 : 3).SerializeAsString());
  }
  make_lmdb("odd", records);
  result = describe("odd");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("sizes      1x3x4 (channels x height x width): 11 records\n"
                                     "           1x9x4: 1 record\n"));
  EXPECT_THAT(
      result.text,
      HasSubstr("note   images differ in size, and all of a batch need one: crop_size up to 3, or "
                "a size to resize them to\n"
                "note   labels go below 0, which only ignore_label makes good use of: -1\n"
                "note   no record has label 0, 1, 2\n"
                "note   records are sorted by label, so that batches hold few classes: shuffle "
                "them (shuffle: true in the data layer, or --shuffle when converting)\n"));
  EXPECT_THAT(result.layer(), HasSubstr("    crop_size: 3  # images differ in size\n"));

  caffe::Datum several = byte_datum(3, 1, 2, 0, 1);
  several.set_data("ababab");
  several.add_label(1);
  make_lmdb("several", {{"a", byte_datum(1, 1, 2, 0, 1).SerializeAsString()},
                        {"b", several.SerializeAsString()},
                        {"c", several.SerializeAsString()}});
  result = describe("several");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(
      result.text,
      HasSubstr("WRONG  images differ in channels: first several: record \"a\" of 1x1x2, first "
                "several: record \"b\" of 3x1x2; force_color or force_gray makes encoded ones "
                "alike\n"));
  EXPECT_THAT(result.text,
              HasSubstr("WRONG  records differ in the number of labels: first several: record "
                        "\"a\" has 1, first several: record \"b\" has 2\n"));
  EXPECT_THAT(result.text, HasSubstr("note   2 records with three equal channels (grey as colour), "
                                     "first several: record \"b\"\n"));
  EXPECT_THAT(result.text, HasSubstr("note   1 record has the same image as an earlier one, first "
                                     "number 2 that of number 1 (from 0)\n"));
}

TEST_F(DescribeData, ANetThatFits) {
  make_good("db");
  const Description result =
      describe("db", net("source: './db' backend: LMDB batch_size: 4", 3, "scale: 0.1"));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              HasSubstr("\nnet.prototxt:1: layer \"data\" (Data), phase TRAIN:\n"
                        "OK     the kind of source (LMDB) is what Data reads\n"
                        "OK     images come out of transform_param as 1x4x4\n"
                        "OK     the net takes 4x1x4x4\n"
                        "OK     \"loss\" (SoftmaxWithLoss) has 3 classes, and all labels are among "
                        "them\n"
                        "\nnet.prototxt:1: layer \"data\" (Data), phase TEST:\n"));
  EXPECT_THAT(result.text, HasSubstr("OK     \"accuracy\" (Accuracy) has 3 classes, and all labels "
                                     "are among them\n"));
  options_.phase = caffe::TRAIN;
  EXPECT_THAT(describe("db", net("source: 'db' backend: LMDB batch_size: 4")).text,
              Not(HasSubstr("phase TEST")));
  // As if it read this source.
  EXPECT_THAT(
      describe("db", net("source: 'other' backend: LMDB batch_size: 50", 5)).text,
      HasSubstr("phase TRAIN, if it read this source:\n"
                "OK     the kind of source (LMDB) is what Data reads\n"
                "OK     images come out of transform_param as 1x4x4\n"
                "note   a batch of 50 is larger than the source (12 records): some come "
                "several times in it\n"
                "OK     the net takes 50x1x4x4\n"
                "OK     \"loss\" (SoftmaxWithLoss) has 5 classes, and all labels are among "
                "them\n"
                "note   2 of the 5 classes of \"loss\" (SoftmaxWithLoss) have no record\n"));
}

TEST_F(DescribeData, NetsThatDoNotFit) {
  make_good("db", 12, 1);
  const auto wrong = [&](const std::string& net, const std::string& line) {
    const Description result = describe("db", net);
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.text, HasSubstr("WRONG  " + line + "\n"));
  };
  const std::string good = "source: 'db' backend: LMDB batch_size: 4";
  wrong(net("source: 'db' batch_size: 4"),
        "data_param.backend is LEVELDB (the default), but the source is an LMDB: write backend: "
        "LMDB");
  wrong(net(good, 3),
        "\"loss\" (SoftmaxWithLoss) has 3 classes (labels 0 to 2), but 4 records "
        "have others, such as 3; labels start at 1: take 1 off");
  wrong(net(good, 2),
        "\"accuracy\" (Accuracy) has 2 classes (labels 0 to 1), but 8 records have "
        "others, such as 2; num_output has to be 4, or the labels are wrong");
  wrong(net(good, 3, "crop_size: 5"),
        "12 of 12 images do not fit transform_param; db: record \"0000\": the image is 1x4x4, "
        "smaller than crop_size 5; resize_short_side, or resize_height and resize_width, would "
        "enlarge it");
  wrong(net(good, 3, "mean_value: 1 mean_value: 2"),
        "12 of 12 images do not fit transform_param; db: record \"0000\": the image is 1x4x4, with "
        "1 channel, but there are 2 mean_value; give one, or one for each channel");
  // What can be said without the mean is said.
  const Description no_mean = describe("db", net(good, 3, "mean_file: 'no.mean'"));
  EXPECT_THAT(
      no_mean.text,
      HasSubstr("WRONG  transform_param.mean_file: cannot open no.mean: No such file or directory\n"
                "OK     images come out of transform_param as 1x4x4\n"));
  EXPECT_THAT(no_mean.text, HasSubstr("has 3 classes (labels 0 to 2), but 4 records have others"));
  wrong(net(good, 4, "", 3),
        "the layer has 3 tops for labels, but records have 1: give one top for all of them, or one "
        "for each");
  wrong("layer { name: 'd' type: 'ImageData' top: 'd' top: 'l' image_data_param { source: 'x' } }",
        "ImageData cannot read db (LMDB): Data can");
  wrong(
      net(good, 4) +
          "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' "
          "convolution_param { kernel_size: 9 num_output: 1 } }",
      "the net: net.prototxt:8: layer \"c\" (Convolution): the kernel 9 is larger than the padded "
      "input: input 4 (4x1x4x4), pad 0 on both sides");
  const Description none = describe("db", "layer { name: 'i' type: 'Input' top: 'i' }");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.text, HasSubstr("\nnet.prototxt has no Data, ImageData or HDF5Data layer in "
                                   "phase TRAIN\n"));
  EXPECT_THAT(error_of([&] { describe("db", "layer {"); }), HasSubstr("net.prototxt:1"));
}

TEST_F(DescribeData, SizesAndLabelsAgainstANet) {
  testing::Records records;
  for (int i = 0; i < 6; ++i) {
    caffe::Datum datum = byte_datum(1, 3 + i % 2, 4, i, 0);
    datum.clear_label();
    datum.add_float_label(static_cast<float>(i) / 2);
    records.emplace_back(fmt::format("{}", i), datum.SerializeAsString());
  }
  make_lmdb("db", records);
  const std::string good = "source: 'db' backend: LMDB batch_size: 4";
  EXPECT_THAT(describe("db", net(good)).text,
              HasSubstr("WRONG  images come out of transform_param in 2 sizes, such as 1x3x4 and "
                        "1x4x4, but all of a batch need one: give crop_size, a size to resize to, "
                        "or batch_size: 1\n"));
  const Description result = describe("db", net(good, 3, "crop_size: 3"));
  EXPECT_THAT(result.text, HasSubstr("OK     images come out of transform_param as 1x3x3\n"));
  EXPECT_THAT(result.text,
              HasSubstr("WRONG  \"loss\" (SoftmaxWithLoss) needs the numbers of classes for "
                        "labels, but 3 of 6 are no whole numbers; EuclideanLoss takes such\n"));
}

TEST_F(DescribeData, Hdf5AgainstANet) {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  for (const char* path : {"a.h5", "b.h5"}) {
    Hdf5Writer writer(path);
    writer.append("data", Shape{3, 2}, values.data());
    writer.append("label", Shape{3}, values.data());
    if (path[0] == 'a') writer.append("more", Shape{3}, values.data());
    writer.finish();
  }
  write_file("list", "a.h5 b.h5");
  const auto net = [](const std::string& source, const std::string& tops) {
    return fmt::format(
        "layer {{ name: 'data' type: 'HDF5Data' {} hdf5_data_param {{ source: '{}' batch_size: 2 "
        "}} }}\n"
        "layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'data' bottom: 'label' top: 'loss' "
        "}}\n",
        tops, source);
  };
  const std::string two = "top: 'data' top: 'label'";
  EXPECT_THAT(describe("list", net("list", two)).text,
              HasSubstr("OK     the kind of source (list of HDF5 files) is what HDF5Data reads\n"
                        "OK     top \"data\" is a dataset with rows of 2\n"
                        "OK     top \"label\" is a dataset with rows of scalar\n"
                        "OK     the net takes 2x2\n"
                        "WRONG  \"loss\" (SoftmaxWithLoss) has 2 classes (labels 0 to 1), but 2 "
                        "records have others, such as 2; num_output has to be 3, or the labels are "
                        "wrong\n"));
  EXPECT_THAT(describe("list", net("list", two + " top: 'more'")).text,
              HasSubstr("WRONG  top \"more\": b.h5 has no such dataset; it holds data (32-bit "
                        "float, 3x2), label (32-bit float, 3)\n"));
  EXPECT_THAT(describe("a.h5", net("a.h5", two)).text,
              HasSubstr("WRONG  hdf5_data_param.source is an HDF5 file itself; it has to be a text "
                        "that lists such\n"));
}

}  // namespace
}  // namespace crema
