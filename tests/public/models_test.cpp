// Published models give the outputs that Caffe gave: one pass in phase TEST on a computed input,
// each output within a thousandth of its largest value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../unit/proto/scratch.h"
#include "base/text.h"
#include "net/net.h"
#include "proto/io.h"
#include "proto/weights.h"
#include "public_files.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using testing::public_folder;
using testing::Row;

/// "1x3x12x12"
Shape shape_of(const std::string& text) {
  std::vector<std::int64_t> dims;
  for (const std::string& part : split(text, 'x')) dims.push_back(std::stoll(part));
  return Shape(std::move(dims));
}

std::vector<float> input_values(const Shape& shape, double scale) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto mixed = static_cast<std::uint32_t>(i * 2654435761U);
    values[i] = static_cast<float>((mixed / 4294967296.0 - 0.5) * 2 * scale);
  }
  return values;
}

/// A training net made one for use: its data layer becomes an input, and what then lacks a bottom
/// (labels and all that needs them) goes.
void replace_data(const std::string& blob, const Shape& shape, caffe::NetParameter* net) {
  caffe::NetParameter kept;
  kept.set_name(net->name());
  caffe::LayerParameter* input = kept.add_layer();
  input->set_name("input");
  input->set_type("Input");
  input->add_top(blob);
  for (const std::int64_t dim : shape.dims()) {
    if (input->input_param().shape_size() == 0) input->mutable_input_param()->add_shape();
    input->mutable_input_param()->mutable_shape(0)->add_dim(dim);
  }
  std::set<std::string> known = {blob};
  for (const caffe::LayerParameter& layer : net->layer()) {
    const bool has_all = std::all_of(layer.bottom().begin(), layer.bottom().end(),
                                     [&](const std::string& name) { return known.contains(name); });
    if (layer.bottom_size() == 0 || !has_all) continue;
    *kept.add_layer() = layer;
    known.insert(layer.top().begin(), layer.top().end());
  }
  net->Swap(&kept);
}

caffe::NetParameter definition_of(const Row& row, const std::string& input, const Shape& shape) {
  const fs::path file = public_folder() / "models" / row.at("prototxt");
  caffe::NetParameter net = read_net(file.string());
  const std::string& equivalence = row.at("equivalence");
  if (equivalence.rfind("train_test net", 0) == 0) replace_data(input, shape, &net);
  if (equivalence.rfind("DepthwiseConvolution replaced", 0) == 0) {
    for (caffe::LayerParameter& layer : *net.mutable_layer()) {
      if (layer.type() == "DepthwiseConvolution") layer.set_type("Convolution");
    }
  }
  return net;
}

std::unique_ptr<Net> run_model(const Row& row, const std::vector<std::string>& blobs,
                               Device& device) {
  const std::string& inputs = row.at("inputs");  // "data[1x3x12x12]"
  const std::size_t open = inputs.find('[');
  const std::string input = inputs.substr(0, open);
  const Shape shape = shape_of(inputs.substr(open + 1, inputs.size() - open - 2));
  NetOptions options;
  options.state.set_phase(caffe::TEST);
  options.keep = blobs;
  auto net = std::make_unique<Net>(definition_of(row, input, shape), device, options);
  const Net::LoadReport report =
      net->load(read_weights((public_folder() / "models" / row.at("model")).string()));
  EXPECT_TRUE(report.missing.empty()) << report.missing.front();
  net->write_blob(input, input_values(shape, std::stod(row.at("scale"))));
  net->forward();
  return net;
}

/// The rows of a DetectionOutput whose score is above 0, in an order of their own: a reference
/// engine may pad them with zeros and order equal scores otherwise.
std::vector<std::vector<float>> detections(const std::vector<float>& values) {
  constexpr std::size_t kRow = 7, kScore = 2;
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i + kRow <= values.size(); i += kRow) {
    if (!(values[i + kScore] > 0)) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
    rows.emplace_back(begin, begin + kRow);
  }
  return rows;
}

/// `rows` as a flat array, each expected row's place taken by the nearest of those left.
std::vector<float> matched(std::vector<std::vector<float>> rows,
                           const std::vector<std::vector<float>>& expected) {
  std::vector<float> values;
  for (const std::vector<float>& wanted : expected) {
    const auto distance = [&](const std::vector<float>& row) {
      float most = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        most = std::max(most, std::abs(row[i] - wanted[i]));
      }
      return most;
    };
    const auto nearest =
        std::min_element(rows.begin(), rows.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    values.insert(values.end(), nearest->begin(), nearest->end());
    rows.erase(nearest);
  }
  return values;
}

bool is_detections(const Net& net, const std::string& blob) {
  const caffe::NetParameter definition = net.definition();
  const auto& layers = definition.layer();
  return std::any_of(layers.begin(), layers.end(), [&](const caffe::LayerParameter& layer) {
    return layer.type() == "DetectionOutput" && layer.top(0) == blob;
  });
}

void compare(const Row& row, const Net& net) {
  testing::NpyArray expected = testing::read_npy(public_folder() / "expected" / row.at("file"));
  std::vector<float> found = net.read_blob(row.at("output_blob"));
  if (is_detections(net, row.at("output_blob"))) {
    const auto rows = detections(found), expected_rows = detections(expected.values);
    ASSERT_EQ(rows.size(), expected_rows.size()) << row.at("output_blob");
    found = matched(rows, expected_rows);
    expected.values = matched(expected_rows, expected_rows);
    std::printf("  %zu detections\n", rows.size());
  }
  ASSERT_EQ(found.size(), expected.values.size()) << row.at("output_blob");
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i]));
    largest = std::max(largest, std::abs(double{expected.values[i]}));
    difference = std::max(difference, std::abs(double{found[i]} - double{expected.values[i]}));
  }
  EXPECT_LE(difference, 1e-3 * largest) << row.at("output_blob");
  std::printf("  %-60s %-20s %.1e of %.3g\n", row.at("model").c_str(),
              row.at("output_blob").c_str(), difference / largest, largest);
}

TEST(PublicModels, GiveCaffesOutputs) {
  const fs::path index = public_folder() / "expected" / "index.tsv";
  if (!fs::exists(index)) GTEST_SKIP() << index << " is not there";
  const std::unique_ptr<Device> device = make_cpu_device();
  std::map<std::string, std::vector<Row>> models;
  for (const Row& row : testing::read_table(index)) models[row.at("model")].push_back(row);
  EXPECT_GT(models.size(), 0u);
  for (const auto& [model, rows] : models) {
    SCOPED_TRACE(model);
    std::vector<std::string> blobs;
    for (const Row& row : rows) blobs.push_back(row.at("output_blob"));
    const std::unique_ptr<Net> net = run_model(rows.front(), blobs, *device);
    for (const Row& row : rows) compare(row, *net);
  }
  std::printf("%zu models\n", models.size());
}

}  // namespace
}  // namespace crema
