// Every published net whose layers Caffe has can be planned, as describe-net does it, for training
// and for testing. Sources of data that are not there are replaced by shapes, as --input_shape
// does.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

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
  const auto about = [&](const char* word) { return file.find(word) != std::string::npos; };
  const bool gray = about("mnist") || about("lenet") || layer.top(0) == "label" ||
                    !layer.image_data_param().is_color();
  const std::int64_t channels = about("siamese") ? 2 : gray ? 1 : 3;
  std::int64_t size = layer.transform_param().crop_size();
  if (size == 0) size = about("mnist") || about("lenet") ? 28 : about("cifar") ? 32 : 227;
  return Shape{batch, channels, size, size};
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

std::string plan(const caffe::NetParameter& net, const caffe::NetState& state,
                 const std::string& file, Device& device) {
  return testing::error_of([&] {
    compile(net, state, device, state.phase() == caffe::TRAIN, shapes_for(net, state, file));
  });
}

/// The stages that layers of the net ask for: none, each, each two.
std::vector<std::vector<std::string>> stages_of(const caffe::NetParameter& net) {
  std::set<std::string> names;
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (const auto& rules : {layer.include(), layer.exclude()}) {
      for (const caffe::NetStateRule& rule : rules) {
        names.insert(rule.stage().begin(), rule.stage().end());
      }
    }
  }
  std::vector<std::vector<std::string>> choices = {{}};
  for (auto a = names.begin(); a != names.end(); ++a) {
    choices.push_back({*a});
    for (auto b = std::next(a); b != names.end(); ++b) choices.push_back({*a, *b});
  }
  return choices;
}

/// "" when some choice of stages can be planned, else why not: rather the error of a choice that
/// leaves nothing out that is needed.
std::string plan_phase(const caffe::NetParameter& net, caffe::Phase phase, const std::string& file,
                       Device& device) {
  std::string first;
  for (const auto& stages : stages_of(net)) {
    caffe::NetState state = net.state();
    state.set_phase(phase);
    for (const std::string& stage : stages) state.add_stage(stage);
    const std::string error = plan(net, state, file, device);
    if (error.empty()) return "";
    const auto lacks = [&](const char* what) { return first.find(what) != std::string::npos; };
    if (first.empty() || lacks("is left out") || lacks("is not produced")) first = error;
  }
  return first;
}

/// Why a net is refused, where that is no fault of Crema's: what the error says, and what that
/// means. An error of another kind fails the test.
struct Cause {
  const char* text;
  const char* meaning;
};
constexpr Cause kCauses[] = {
    {"is left out: phase is", "made for the other phase alone"},
    {"num_output is missing", "a template that DIGITS fills in"},
    {"a Python layer runs a user's Python code", "Python layer"},
    {"merge-conflict marker", "broken file"},
    {"expected integer or identifier, got: \"Softmax\"", "broken file"},
    {"takes 2 bottoms, not 1", "broken file: a loss without labels"},
    {"unknown field \"subtraction\" in an old (V0) layer", "older than what Caffe reads"},
    {"unknown field \"min_resize\"", "of an unknown fork"},
    {"unknown filler type \"gabor\"", "of Intel's fork"},
    {"changes results and is not supported", "of a fork"},
    {"both bottoms must have the same number of values", "shape of an HDF5 source unknown"},
    {"the input must have at least 3 axes", "shape of an HDF5 source unknown"},
    {"bottoms must have the same shape: bottom 0 is 32x18, bottom 1 is 32x18x1x1",
     "from before blobs had other than 4 axes"},
};

const char* cause_of(const std::string& error) {
  for (const Cause& cause : kCauses) {
    if (error.find(cause.text) != std::string::npos) return cause.meaning;
  }
  return nullptr;
}

TEST(PublicNets, CanBePlanned) {
  const fs::path folder = public_folder() / "nets";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  const std::unique_ptr<Device> device = make_cpu_device();
  int both = 0, one = 0, none = 0;
  for (const Row& row : testing::read_table(folder / "index.tsv")) {
    if (row.at("bvlc_1.0_knows_all") != "yes") continue;
    const std::string& file = row.at("file");
    caffe::NetParameter net;
    const std::string unread = testing::error_of([&] {
      net = read_net((folder / file).string(), nullptr, {{}, true});
    });
    int planned = 0;
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      const std::string error = unread.empty() ? plan_phase(net, phase, file, *device) : unread;
      if (error.empty()) {
        ++planned;
        continue;
      }
      const char* cause = cause_of(error);
      EXPECT_NE(cause, nullptr) << caffe::Phase_Name(phase) << ": " << error;
      if (testing::show_refusals()) {
        std::printf("  %s: %s: %s\n", caffe::Phase_Name(phase).c_str(), cause ? cause : "?",
                    error.c_str());
      }
    }
    ++(planned == 2 ? both : planned == 1 ? one : none);
  }
  EXPECT_GT(both, 0);
  std::printf("nets planned: %d in both phases, %d in one, %d in none\n", both, one, none);
}

}  // namespace
}  // namespace crema
