// Batches that Caffe made, from data bases that Caffe wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "data/batch_reader.h"
#include "fixtures.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"
#include "proto/io.h"

namespace crema {
namespace {

const std::string kCases = std::string(CREMA_TEST_DATA) + "/conformance/data";

/// The `# KEY: VALUE` line of a case.
std::string directive(const std::string& net, const std::string& key) {
  std::istringstream in(testing::contents_of(net));
  for (std::string line; std::getline(in, line);) {
    const std::string head = "# " + key + ": ";
    if (line.rfind(head, 0) == 0) return line.substr(head.size());
  }
  return "";
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  if (!boost::filesystem::is_directory(kCases)) return names;
  for (const auto& entry : boost::filesystem::directory_iterator(kCases)) {
    const std::string name = entry.path().filename().string();
    // hdf5_output is a layer's matter, and LevelDB wants to write where it reads.
    for (const char* kind : {"lmdb_", "hdf5_", "image_"}) {
      if (name.rfind(kind, 0) == 0 && name != "hdf5_output") names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class DataConformance : public ::testing::TestWithParam<std::string> {};

TEST_P(DataConformance, BatchesAreCaffes) {
  const testing::WorkingFolder there(kCases + "/" + GetParam());
  const caffe::LayerParameter layer = read_net("net.prototxt").layer(0);
  const caffe::Phase phase =
      directive("net.prototxt", "phase") == "TRAIN" ? caffe::TRAIN : caffe::TEST;
  const auto open = [&] {
    if (layer.type() == "HDF5Data") return open_hdf5(layer, caffe::TRAIN, 1);
    return layer.type() == "ImageData" ? open_image_list(layer, phase, 1)
                                       : open_data(layer, phase, 1);
  };
  const auto reader = open();
  std::vector<Shape> shapes = reader->shapes(reader->batch_size());
  ASSERT_EQ(shapes.size(), static_cast<std::size_t>(layer.top_size()));
  const double tolerance = std::stod(directive("net.prototxt", "tolerance"));
  const int batches = std::stoi(directive("net.prototxt", "batches"));
  ASSERT_GT(batches, 0);
  for (int batch = 0; batch < batches; ++batch) {
    if (reader->follow_shapes()) shapes = reader->shapes(reader->batch_size());
    std::vector<std::vector<float>> tops;
    std::vector<float*> pointers;
    for (const Shape& shape : shapes) tops.emplace_back(static_cast<std::size_t>(shape.count()));
    for (auto& top : tops) pointers.push_back(top.data());
    reader->read(pointers);

    const Hdf5Lock lock;
    const hdf5::Handle file = hdf5::open_file("expected.h5");
    const hdf5::Handle group = hdf5::open_group(file, "batch" + std::to_string(batch));
    for (int t = 0; t < layer.top_size(); ++t) {
      const auto top = static_cast<std::size_t>(t);
      ASSERT_EQ(hdf5::dataset_shape(group, layer.top(t)), shapes[top]);
      const std::vector<float> expected = hdf5::read_floats(group, layer.top(t));
      double largest = 1;
      for (const float value : expected) largest = std::max(largest, std::fabs(double{value}));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(tops[top][i], expected[i], tolerance * largest)
            << "batch " << batch << " " << layer.top(t) << "[" << i << "]";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DataConformance, ::testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

TEST(DataConformanceCorpus, IsThere) { EXPECT_GE(case_names().size(), 28u); }

}  // namespace
}  // namespace crema
