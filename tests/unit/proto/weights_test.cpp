#include "proto/weights.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "proto/hdf5.h"
#include "proto/io.h"
#include "proto/text.h"
#include "scratch.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

constexpr const char* kNet =
    "name: \"n\" layer { name: \"data\" type: \"Input\" } "
    "layer { name: \"ip\" type: \"InnerProduct\" blobs { shape { dim: 2 dim: 3 } data: [1, 2, 3, "
    "4, 5, 6] "
    "diff: [6, 5, 4, 3, 2, 1] } blobs { shape { dim: 2 } data: [7, 8] } } "
    "layer { name: \"a-b_c.d\" type: \"Scale\" blobs { shape { } data: 9 } }";

caffe::NetParameter net_of(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "n", &net);
  strip_positions(&net);
  return net;
}

class WeightFiles : public ::testing::Test {
 protected:
  std::string error_for(const std::string& content) {
    const std::string path = scratch_.write("w", content);
    const std::string error = error_of([&] { read_weights(path); });
    EXPECT_EQ(error.rfind(path + " ", 0), 0u) << error;
    return error.size() > path.size() ? error.substr(path.size() + 1) : error;
  }

  Scratch scratch_;
};

void expect_all(const StoredWeights& weights, bool hdf5) {
  ASSERT_EQ(weights.layers.size(), 3u);
  EXPECT_EQ(weights.hdf5, hdf5);
  const StoredLayer* ip = weights.find("ip");
  ASSERT_NE(ip, nullptr);
  EXPECT_EQ(ip->type, hdf5 ? "" : "InnerProduct");
  ASSERT_EQ(ip->blobs.size(), 2u);
  EXPECT_EQ(ip->blobs[0].shape, (Shape{2, 3}));
  EXPECT_EQ(ip->blobs[0].data, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ip->blobs[1].data, (std::vector<float>{7, 8}));
  EXPECT_TRUE(fits(ip->blobs[1], Shape{2}));
  EXPECT_FALSE(fits(ip->blobs[1], Shape{1, 2}));
  ASSERT_NE(weights.find("a-b_c.d"), nullptr);
  EXPECT_EQ(weights.find("a-b_c.d")->blobs.at(0).shape, Shape());
  EXPECT_TRUE(weights.find("data")->blobs.empty());
  EXPECT_EQ(weights.find("none"), nullptr);
}

TEST_F(WeightFiles, RoundTripBinary) {
  const std::string path = scratch_.path("x.caffemodel");
  write_weights(net_of(kNet), path, weight_format(path));
  expect_all(read_weights(path), false);
}

TEST_F(WeightFiles, RoundTripHdf5) {
  const std::string path = scratch_.path("x.caffemodel.h5");
  write_weights(net_of(kNet), path, weight_format(path));
  const auto weights = read_weights(path);
  expect_all(weights, true);
  EXPECT_EQ(weights.file, path);
  const auto file = hdf5::open_file(path);
  const auto diff = hdf5::open_group(file, "diff");
  EXPECT_EQ(hdf5::entries(diff).size(), 3u) << "a group for every layer";
  const auto ip = hdf5::open_group(diff, "ip");
  ASSERT_EQ(hdf5::entries(ip).size(), 1u);
  EXPECT_EQ(hdf5::read_floats(ip, "0"), (std::vector<float>{6, 5, 4, 3, 2, 1}));
}

TEST_F(WeightFiles, EqualContentGivesEqualHdf5Files) {
  for (const char* name : {"a.h5", "b.h5"}) {
    write_weights(net_of(kNet), scratch_.path(name), WeightFormat::kHdf5);
  }
  EXPECT_EQ(read_file(scratch_.path("a.h5")), read_file(scratch_.path("b.h5")));
}

TEST_F(WeightFiles, Hdf5LeavesOutOthersParameters) {
  const std::string path = scratch_.path("x.h5");
  write_weights(net_of("layer { name: \"s\" blobs { } blobs { shape { dim: 1 } data: 4 } }"), path,
                WeightFormat::kHdf5);
  const auto weights = read_weights(path);
  ASSERT_EQ(weights.layers.at(0).blobs.size(), 2u);
  EXPECT_FALSE(weights.layers[0].blobs[0].present);
  EXPECT_TRUE(weights.layers[0].blobs[1].present);
}

TEST_F(WeightFiles, Hdf5Errors) {
  const std::string path = scratch_.path("x.h5");
  const auto error = [&](const std::string& text) {
    return error_of([&] { write_weights(net_of(text), path, WeightFormat::kHdf5); });
  };
  EXPECT_EQ(error("layer { name: \"a\" } layer { name: \"a\" }"),
            "two layers are called \"a\", which cannot be saved as HDF5");
  EXPECT_EQ(error("layer { name: \"a\" blobs { shape { dim: 2 } data: 1 } }"),
            path + ": layer \"a\": the shape 2 needs 2 values, but 1 are stored");
  EXPECT_FALSE(boost::filesystem::exists(path)) << "nothing half-written remains";
  EXPECT_EQ(boost::filesystem::directory_iterator(scratch_.folder()),
            boost::filesystem::directory_iterator());
}

TEST_F(WeightFiles, Hdf5GroupsWithinGroupsAreNamesWithSlashes) {
  const std::string path = scratch_.path("x.h5");
  const auto file = hdf5::create_in_memory();
  {
    const auto data = hdf5::create_group(file, "data");
    const auto outer = hdf5::create_group(data, "conv1");
    const auto inner = hdf5::create_group(outer, "bn");
    const float value = 3;
    hdf5::write_floats(inner, "0", Shape{1}, &value);
  }
  write_file_atomically(path, hdf5::image(file));
  const auto weights = read_weights(path);
  ASSERT_EQ(weights.layers.size(), 1u);
  EXPECT_EQ(weights.layers[0].name, "conv1/bn");
}

TEST_F(WeightFiles, NamesWithSlashesInHdf5) {
  const std::string path = scratch_.path("x.h5");
  // "a" is a layer and the group of others; "b/c" has no parameters; "d" holds groups alone.
  const auto net = net_of(
      "layer { name: \"a\" blobs { shape { dim: 1 } data: 1 diff: 6 } }"
      "layer { name: \"a/b\" blobs { shape { dim: 1 } data: 2 diff: 7 } }"
      "layer { name: \"a/b/scale\" blobs { shape { dim: 1 } data: 3 } }"
      "layer { name: \"b/c\" }"
      "layer { name: \"d/1x1\" blobs { shape { dim: 1 } data: 4 } }"
      "layer { name: \"d/3x3_reduce\" blobs { shape { dim: 1 } data: 5 } }");
  require_storable(net, 6, WeightFormat::kHdf5);
  write_weights(net, path, WeightFormat::kHdf5);
  const StoredWeights weights = read_weights(path);
  std::string all;
  for (const StoredLayer& layer : weights.layers) {
    all += layer.name;
    for (const StoredBlob& blob : layer.blobs) all += fmt::format(" {}", blob.data.at(0));
    all += ";";
  }
  EXPECT_EQ(all, "a 1;a/b 2;a/b/scale 3;b/c;d/1x1 4;d/3x3_reduce 5;");
  const auto diff = hdf5::open_group(hdf5::open_file(path), "diff");
  EXPECT_EQ(hdf5::read_floats(hdf5::open_group(hdf5::open_group(diff, "a"), "b"), "0"),
            std::vector<float>{7});
}

TEST_F(WeightFiles, NamesThatHdf5CannotHold) {
  const auto error = [](const std::string& names) {
    std::string text;
    for (const std::string& name : split(names, ' ')) text += "layer { name: \"" + name + "\" }";
    return error_of([&] { require_storable(net_of(text), 0, WeightFormat::kHdf5); });
  };
  for (const char* name : {"/a", "a/", "a//b", "a/./b", "."}) {
    EXPECT_EQ(error(name), fmt::format("layer \"{}\": such a name cannot be saved as HDF5; use "
                                       "snapshot_format: BINARYPROTO or rename the layer",
                                       name));
  }
  EXPECT_EQ(error("a a/0"),
            "layers \"a\" and \"a/0\" cannot both be saved as HDF5, where \"0\" is the name of a "
            "parameter of the first; rename one");
  EXPECT_NE(error("x/a/12/y x/a"), "");
  EXPECT_EQ(error("a a/00 a/x a/-1 b/0 b/0/1x1 0 .. a.b"), "");
  std::string deep = "a";
  for (int i = 0; i < 40; ++i) deep += "/a";
  EXPECT_NE(error(deep).find("the name has 41 parts"), std::string::npos);
}

TEST_F(WeightFiles, TooLargeForABinaryFile) {
  const std::int64_t most = (std::int64_t{1} << 29) - 1;
  const auto error = [&](std::int64_t values, WeightFormat format) {
    return error_of([&] { require_storable(net_of(kNet), values, format); });
  };
  EXPECT_EQ(error(most, WeightFormat::kBinary), "");
  EXPECT_EQ(
      error(most + 1, WeightFormat::kBinary),
      "the weights take 2.15 GB, but a binary file holds 2.1 GB at most; use snapshot_format: "
      "HDF5");
  EXPECT_EQ(error(std::int64_t{1} << 40, WeightFormat::kHdf5), "");
}

TEST_F(WeightFiles, BinaryFilesBeyondTwoGigabytesAreRefused) {
  // A layer that claims to fill a file of 2^31 bytes, nearly all of it a hole.
  const std::string path = scratch_.write("large", "\xa2\x06\xf9\xff\xff\xff\x07");
  boost::filesystem::resize_file(path, std::uintmax_t{1} << 31);
  EXPECT_EQ(error_of([&] { read_weights(path); }),
            path + " has 2147483648 bytes; binary weight files end at 2^31 - 1");
}

TEST_F(WeightFiles, BatchNormWithScaleIsTwoLayers) {
  const auto net = net_of(
      "layer { name: \"b\" type: \"BatchNorm\" blobs { shape { dim: 2 } data: [1, 2] } "
      "blobs { shape { dim: 2 } data: [3, 4] } blobs { shape { dim: 1 } data: 5 } "
      "blobs { shape { dim: 2 } data: [6, 7] } blobs { shape { dim: 2 } data: [8, 9] } }"
      "layer { name: \"i\" type: \"BatchNorm\" blobs { shape { dim: 1 } data: 1 } "
      "blobs { shape { dim: 1 } data: 2 } blobs { shape { dim: 1 } data: 3 } "
      "blobs { shape { dim: 1 } data: 4 } }"
      "layer { name: \"r\" type: \"RNN\" blobs { shape { dim: 1 dim: 1 } data: 1 } "
      "blobs { shape { dim: 1 } data: 1 } blobs { shape { dim: 1 dim: 1 } data: 1 } "
      "blobs { shape { dim: 1 dim: 1 } data: 1 } blobs { shape { dim: 1 } data: 1 } }");
  for (const char* name : {"x.caffemodel", "x.caffemodel.h5"}) {
    const std::string path = scratch_.path(name);
    write_weights(net, path, weight_format(path));
    const StoredWeights weights = read_weights(path);
    EXPECT_EQ(weights.layers.size(), 5u);
    ASSERT_EQ(weights.find("b")->blobs.size(), 3u);
    EXPECT_EQ(weights.find("b")->needs, "b/scale");
    EXPECT_EQ(weights.find("b")->blobs[1].data, (std::vector<float>{3, 4}));
    ASSERT_EQ(weights.find("b/scale")->blobs.size(), 2u);
    EXPECT_EQ(weights.find("b/scale")->blobs[0].data, (std::vector<float>{6, 7}));
    EXPECT_EQ(weights.find("b/scale")->blobs[1].data, (std::vector<float>{8, 9}));
    EXPECT_EQ(weights.find("i/scale")->blobs.size(), 1u);
    EXPECT_EQ(weights.find("r")->blobs.size(), 5u);
    EXPECT_EQ(weights.find("r")->needs, "");
  }
}

TEST_F(WeightFiles, OldForms) {
  const auto path = scratch_.path("old");
  write_binary(net_of("input: \"data\" layers { name: \"c\" type: CONVOLUTION blobs { num: 1 "
                      "channels: 1 height: 1 "
                      "width: 2 data: [1, 2] } }"),
               path);
  auto weights = read_weights(path);
  ASSERT_EQ(weights.layers.size(), 1u);
  EXPECT_EQ(weights.layers[0].type, "Convolution");
  EXPECT_TRUE(weights.layers[0].blobs.at(0).legacy);
  EXPECT_TRUE(fits(weights.layers[0].blobs[0], Shape{2}));

  write_binary(
      net_of(
          "layers { layer { name: \"f\" type: \"innerproduct\" blobs { width: 1 height: 1 num: 1 "
          "channels: 1 double_data: 5 } } }"),
      path);
  weights = read_weights(path);
  EXPECT_EQ(weights.layers.at(0).name, "f");
  EXPECT_EQ(weights.layers[0].blobs.at(0).data, std::vector<float>{5});
}

TEST_F(WeightFiles, TheLastOfOneNameCounts) {
  const auto path = scratch_.path("twice");
  write_binary(net_of("layer { name: \"a\" type: \"X\" blobs { data: 1 } } layer { name: \"a\" "
                      "type: \"Y\" blobs { data: 2 } }"),
               path);
  EXPECT_EQ(read_weights(path).find("a")->type, "Y");
}

TEST_F(WeightFiles, BadBlobsAreNamed) {
  const auto path = scratch_.path("bad");
  write_binary(net_of("layer { name: \"a\" blobs { data: 1 } blobs { shape { dim: 3 } data: 2 } }"),
               path);
  EXPECT_EQ(error_of([&] { read_weights(path); }),
            path + ": layer \"a\", blob 1: the shape 3 needs 3 values, but 1 are stored");
}

TEST_F(WeightFiles, OtherFilesAreRefusedByName) {
  caffe::SolverState state;
  state.set_iter(5);
  state.set_learned_net("x.caffemodel");
  state.add_history()->add_data(1);
  EXPECT_EQ(error_for(state.SerializeAsString()),
            "is a solver state, not weights; give it to --snapshot");
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(1);
  mean.set_height(1);
  mean.set_width(1);
  mean.add_data(3);
  EXPECT_EQ(error_for(mean.SerializeAsString()),
            "is a single blob, as mean images are, not weights");
  mean.Clear();
  mean.mutable_shape()->add_dim(1);
  mean.add_data(3);
  EXPECT_EQ(error_for(mean.SerializeAsString()),
            "is a single blob, as mean images are, not weights");
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(1);
  datum.set_width(1);
  datum.set_data("x");
  EXPECT_EQ(error_for(datum.SerializeAsString()),
            "is a single database record (Datum), not weights");
  EXPECT_EQ(error_for("name: \"net\"\nlayer { }\n"),
            "is a text file, not weights; if it is a prototxt, give it as --model or --solver");
  EXPECT_EQ(error_for(""), "is empty");
  EXPECT_EQ(error_for("<!DOCTYPE html>\n<html>"),
            "is a web page (was the page of the file saved in place of the file?), not weights");
  EXPECT_EQ(error_for("version https://git-lfs.github.com/spec/v1\n"),
            "is a Git LFS pointer (run `git lfs pull` to get the file itself), not weights");
  EXPECT_EQ(error_for(std::string("PK\x03\x04\x00", 5)),
            "is a zip archive (as PyTorch and NumPy files are), not weights");
  EXPECT_EQ(error_for("\x1f\x8b\x08"), "is compressed with gzip (unpack it first), not weights");
  EXPECT_EQ(error_for(std::string("\x00\x00\x00", 3)),
            "is neither an HDF5 file nor a binary net, so it holds no weights; the file is damaged "
            "at byte "
            "0");
}

TEST_F(WeightFiles, CutShort) {
  const std::string whole = net_of(kNet).SerializeAsString();
  const std::string path = scratch_.write("w", whole.substr(0, whole.size() - 5));
  EXPECT_EQ(error_of([&] { read_weights(path); }),
            "the weights in " + path +
                " cannot be read: the record at byte 117 has 26 bytes, but only 21 are left: the "
                "file is cut "
                "short or damaged");
}

TEST_F(WeightFiles, Folders) {
  const auto error = [&] { return error_of([&] { read_weights(scratch_.folder()); }); };
  EXPECT_EQ(error(), scratch_.folder() + " is a folder, not weights");
  scratch_.write("CURRENT", "x");
  EXPECT_EQ(error(), scratch_.folder() + " is a LevelDB database, not weights");
  scratch_.write("data.mdb", "x");
  EXPECT_EQ(error(), scratch_.folder() + " is an LMDB database, not weights");
}

TEST_F(WeightFiles, Missing) {
  EXPECT_EQ(error_of([&] { read_weights(scratch_.path("none")); }),
            "cannot open " + scratch_.path("none") + ": No such file or directory");
}

TEST_F(WeightFiles, OtherHdf5Files) {
  const std::string path = scratch_.path("x.h5");
  const float value = 1;
  {
    const auto file = hdf5::create_in_memory();
    hdf5::write_floats(file, "data", Shape{1}, &value);
    write_file_atomically(path, hdf5::image(file));
  }
  EXPECT_EQ(error_of([&] { read_weights(path); }), path + " is an HDF5 data set, not weights");
  {
    const auto file = hdf5::create_in_memory();
    hdf5::write_floats(file, "images", Shape{1}, &value);
    write_file_atomically(path, hdf5::image(file));
  }
  EXPECT_EQ(error_of([&] { read_weights(path); }),
            path + " is an HDF5 file without a group \"data\", so it holds no weights");
  {
    const auto file = hdf5::create_in_memory();
    hdf5::write_int(file, "iter", 1);
    hdf5::create_group(file, "history");
    write_file_atomically(path, hdf5::image(file));
  }
  EXPECT_EQ(error_of([&] { read_weights(path); }),
            path + " is a solver state, not weights; give it to --snapshot");
  const std::string whole = read_file(path);
  scratch_.write("x.h5", whole.substr(0, 100));
  EXPECT_EQ(
      error_of([&] { read_weights(path); }).rfind("cannot open " + path + " as an HDF5 file: ", 0),
      0u);
}

}  // namespace
}  // namespace crema
