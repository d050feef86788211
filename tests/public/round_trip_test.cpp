// Weights that are read and written are the same weights: every published weight file and those of
// the conformance cases, in binary and in HDF5.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "../unit/proto/scratch.h"
#include "proto/blobs.h"
#include "proto/io.h"
#include "proto/upgrade.h"
#include "proto/weights.h"
#include "public_files.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using google::protobuf::util::MessageDifferencer;
using testing::public_folder;

/// In HDF5 the order is that of names, and a layer without parameters may be only a group of
/// others.
void expect_equal(const StoredWeights& a, const StoredWeights& b, bool same_order) {
  EXPECT_TRUE(!same_order || a.layers.size() == b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const StoredLayer& layer = a.layers[i];
    SCOPED_TRACE(layer.name);
    if (!same_order && layer.blobs.empty()) continue;
    const StoredLayer* other =
        same_order && i < b.layers.size() ? &b.layers[i] : b.find(layer.name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(layer.name, other->name);
    ASSERT_EQ(layer.blobs.size(), other->blobs.size());
    for (std::size_t k = 0; k < layer.blobs.size(); ++k) {
      EXPECT_EQ(layer.blobs[k].shape, other->blobs[k].shape);
      EXPECT_EQ(layer.blobs[k].data, other->blobs[k].data);
    }
  }
}

/// Read, written as binary and read again; the same through HDF5.
void round_trip(const std::string& file) {
  SCOPED_TRACE(file);
  const testing::Scratch scratch;
  const std::string binary = scratch.path("w.caffemodel"), hdf5 = scratch.path("w.caffemodel.h5");
  caffe::NetParameter net, again;
  read_binary(file, &net);
  upgrade_net(&net);
  widen_raw_blobs(&net);
  write_weights(net, binary, WeightFormat::kBinary);
  read_binary(binary, &again);
  EXPECT_TRUE(MessageDifferencer::Equals(net, again)) << "every field";
  const StoredWeights weights = read_weights(file);
  expect_equal(weights, read_weights(binary), true);
  if (testing::error_of([&] { require_storable(net, 0, WeightFormat::kHdf5); }).empty()) {
    write_weights(net, hdf5, WeightFormat::kHdf5);
    expect_equal(weights, read_weights(hdf5), false);
  }
}

/// The weight files below a folder that can be read at all.
int round_trip_all(const fs::path& folder) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".caffemodel") continue;
    const std::string file = entry.path().string();
    if (!testing::error_of([&] { read_weights(file); }).empty()) continue;
    round_trip(file);
    ++files;
  }
  return files;
}

TEST(RoundTrip, WeightsOfTheConformanceCases) {
  EXPECT_GT(round_trip_all(fs::path(CREMA_TEST_DATA) / "conformance"), 10);
}

TEST(RoundTrip, PublicWeights) {
  const fs::path folder = public_folder() / "models";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  EXPECT_GT(round_trip_all(folder), 10);
}

TEST(RoundTrip, PublicHdf5Weights) {
  const fs::path folder = public_folder() / "models";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  const testing::Scratch scratch;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().string();
    if (file.find(".caffemodel.h5") == std::string::npos) continue;
    const StoredWeights weights = read_weights(file);
    caffe::NetParameter net;
    for (const StoredLayer& layer : weights.layers) {
      caffe::LayerParameter* stored = net.add_layer();
      stored->set_name(layer.name);
      for (const StoredBlob& blob : layer.blobs) {
        to_proto(blob.shape, blob.data.data(), stored->add_blobs());
      }
    }
    write_weights(net, scratch.path("w.h5"), WeightFormat::kHdf5);
    expect_equal(weights, read_weights(scratch.path("w.h5")), true);
    write_weights(net, scratch.path("w"), WeightFormat::kBinary);
    expect_equal(weights, read_weights(scratch.path("w")), true);
  }
}

}  // namespace
}  // namespace crema
