#include "report/data_layer_text.h"

#include <algorithm>

#include "base/error.h"
#include "report/records_report.h"

namespace crema {
namespace {

using Kind = RecordStream::Kind;

constexpr std::int64_t kBatch = 64;

/// A string as prototxt has it.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string transform_text(const RecordStats& stats) {
  std::string text = "  transform_param {\n";
  if (stats.shapes.size() > 1) {
    std::int64_t side = 0;
    for (const auto& [shape, found] : stats.shapes) {
      if (shape.axes() != 3) continue;
      const std::int64_t shorter = std::min(shape[1], shape[2]);
      side = side == 0 ? shorter : std::min(side, shorter);
    }
    text += fmt::format("    crop_size: {}  # images differ in size\n", side);
  }
  std::size_t channels = 0;
  for (const auto& [shape, found] : stats.shapes) {
    channels =
        std::max(channels, static_cast<std::size_t>(std::max<std::int64_t>(shape.legacy(0), 1)));
  }
  if (channels <= 4) {
    for (std::size_t c = 0; c < stats.channels.size(); ++c) {
      text += fmt::format("    mean_value: {:.6g}\n", stats.channels[c].mean);
    }
  }
  if (!stats.encodings.contains("float_data")) text += "    scale: 0.00390625  # 1 / 256\n";
  return text + "  }\n";
}

}  // namespace

std::string data_layer_text(const RecordStream& stream, const RecordStreamOptions& options,
                            const RecordStats& stats) {
  if (stats.good() == 0) return "";
  const bool labels = !stats.labels.empty();
  const bool hdf5 = stream.kind() == Kind::kHdf5 || stream.kind() == Kind::kHdf5List;
  const bool files = stream.kind() == Kind::kImageList || stream.kind() == Kind::kImageFolder;
  const std::int64_t batch = std::min(kBatch, stats.good());
  std::string text = "layer {\n  name: \"data\"\n";
  text += fmt::format("  type: \"{}\"\n", hdf5 ? "HDF5Data" : files ? "ImageData" : "Data");
  text += fmt::format("  top: {}\n", quoted(hdf5 ? options.dataset : "data"));
  if (labels) text += fmt::format("  top: {}\n", quoted(hdf5 ? options.label_dataset : "label"));
  if (hdf5) {
    const std::string list = stream.kind() == Kind::kHdf5 ? stream.path() + ".txt" : stream.path();
    if (stream.kind() == Kind::kHdf5) {
      text += fmt::format("  # {} is a text with the line {}\n", list, stream.path());
    }
    text += fmt::format("  hdf5_data_param {{ source: {} batch_size: {} }}\n", quoted(list), batch);
  } else if (files) {
    text += transform_text(stats);
    text += fmt::format("  image_data_param {{\n    source: {}\n    batch_size: {}\n",
                        quoted(stream.path()), batch);
    if (!options.root.empty()) text += fmt::format("    root_folder: {}\n", quoted(options.root));
    if (options.label_count > 1) text += fmt::format("    label_count: {}\n", options.label_count);
    if (options.resize_height > 0) {
      text += fmt::format("    new_height: {}\n    new_width: {}\n", options.resize_height,
                          options.resize_width);
    }
    if (options.gray) text += "    is_color: false\n";
    text += "    shuffle: true  # for training\n  }\n";
  } else {
    text += transform_text(stats);
    text += fmt::format("  data_param {{ source: {} backend: {} batch_size: {} }}\n",
                        quoted(stream.path()), stream.kind() == Kind::kLmdb ? "LMDB" : "LEVELDB",
                        batch);
  }
  text += "}\n";
  if (labels && stats.labels.size() == 1 && labels_are_classes(stats) && stats.labels[0].min >= 0) {
    const double classes =
        std::max(stats.labels[0].max + 1, static_cast<double>(stream.classes().size()));
    text += fmt::format("# labels {:g} to {:g}: the layer before the loss has num_output: {:g}\n",
                        stats.labels[0].min, stats.labels[0].max, classes);
  }
  return text;
}

}  // namespace crema
