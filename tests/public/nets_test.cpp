// Every published net whose layers Caffe has can be planned, as describe-net does it, for training
// and for testing. Sources of data that are not there are replaced by shapes, as --input_shape
// does.
#include <gtest/gtest.h>

#include <algorithm>

#include "../unit/proto/scratch.h"
#include "net/compile.h"
#include "net/net.h"
#include "proto/io.h"
#include "public_files.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using testing::public_folder;
using testing::Row;

/// What a data layer would give, as far as its fields tell.
Shape guessed_shape(const caffe::LayerParameter& layer, const std::string& file) {
  std::int64_t batch = 1;
  if (layer.has_data_param()) batch = layer.data_param().batch_size();
  if (layer.has_image_data_param()) batch = layer.image_data_param().batch_size();
  if (layer.has_window_data_param()) batch = layer.window_data_param().batch_size();
  if (layer.has_hdf5_data_param()) batch = layer.hdf5_data_param().batch_size();
  std::int64_t size = layer.transform_param().crop_size();
  if (size == 0) {
    const auto about = [&](const char* word) { return file.find(word) != std::string::npos; };
    size = about("mnist") || about("lenet") ? 28 : about("cifar") ? 32 : 227;
    if (size == 28) return Shape{batch, 1, 28, 28};
  }
  return Shape{batch, 3, size, size};
}

/// Shapes for the layers that would open files.
std::map<std::string, Shape> shapes_for(const caffe::NetParameter& net,
                                        const caffe::NetState& state, const std::string& file) {
  static const std::vector<std::string> kSources = {"Data", "ImageData", "HDF5Data", "WindowData"};
  std::map<std::string, Shape> shapes;
  const FilteredNet filtered = filter(net, state);
  for (const caffe::LayerParameter& layer : filtered.net.layer()) {
    if (std::find(kSources.begin(), kSources.end(), layer.type()) == kSources.end()) continue;
    if (layer.top_size() > 0) shapes[layer.top(0)] = guessed_shape(layer, file);
  }
  return shapes;
}

std::string plan(const fs::path& file, caffe::Phase phase, Device& device) {
  return testing::error_of([&] {
    const caffe::NetParameter net = read_net(file.string(), nullptr, {{}, true});
    caffe::NetState state = net.state();
    state.set_phase(phase);
    compile(net, state, device, phase == caffe::TRAIN,
            shapes_for(net, state, file.filename().string()));
  });
}

TEST(PublicNets, CanBePlanned) {
  const fs::path folder = public_folder() / "nets";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  const std::unique_ptr<Device> device = make_cpu_device();
  int planned = 0;
  std::vector<std::string> refused;
  for (const Row& row : testing::read_table(folder / "index.tsv")) {
    if (row.at("bvlc_1.0_knows_all") != "yes") continue;
    std::string errors;
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      const std::string error = plan(folder / row.at("file"), phase, *device);
      if (!error.empty()) errors += fmt::format("\n    {}: {}", caffe::Phase_Name(phase), error);
    }
    if (errors.empty()) {
      ++planned;
    } else {
      refused.push_back(row.at("file") + errors);
    }
  }
  std::printf("%d nets planned, %zu not\n", planned, refused.size());
  for (const std::string& text : refused) std::printf("  %s\n", text.c_str());
  EXPECT_GT(planned, 0);
}

}  // namespace
}  // namespace crema
