#include "commands/data_fit.h"

#include <algorithm>
#include <boost/filesystem.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/hdf5_contents.h"
#include "data/hdf5_list.h"
#include "data/transform.h"
#include "net/compile.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using Kind = RecordStream::Kind;

bool is_data_layer(const caffe::LayerParameter& layer) {
  return layer.type() == "Data" || layer.type() == "ImageData" || layer.type() == "HDF5Data";
}

std::string source_of(const caffe::LayerParameter& layer) {
  return layer.type() == "Data"        ? layer.data_param().source()
         : layer.type() == "ImageData" ? layer.image_data_param().source()
                                       : layer.hdf5_data_param().source();
}

std::int64_t batch_of(const caffe::LayerParameter& layer) {
  return layer.type() == "Data"        ? layer.data_param().batch_size()
         : layer.type() == "ImageData" ? layer.image_data_param().batch_size()
                                       : layer.hdf5_data_param().batch_size();
}

/// One file under two names is the same.
bool same_path(const std::string& a, const std::string& b) {
  boost::system::error_code error;
  const bool same = fs::equivalent(a, b, error);
  return a == b || (!error && same);
}

/// The layer type that reads a kind of source.
std::string type_for(Kind kind) {
  switch (kind) {
    case Kind::kLmdb:
    case Kind::kLevelDb:
      return "Data";
    case Kind::kHdf5:
    case Kind::kHdf5List:
      return "HDF5Data";
    case Kind::kImageList:
    case Kind::kImageFolder:
      break;
  }
  return "ImageData";
}

/// `"loss" (SoftmaxWithLoss)`
std::string name_of(const Node& node) {
  return fmt::format("\"{}\" ({})", node.name(), node.type());
}

/// How many classes the labels of a layer's bottom 1 may name; nothing for layers that take no
/// classes.
std::optional<std::int64_t> classes_of(const Node& node, const Shape& scores) {
  const auto along = [&](int axis) { return scores[scores.canonical_axis(axis)]; };
  const std::string& type = node.type();
  const caffe::LayerParameter& layer = node.definition;
  if (type == "SoftmaxWithLoss") return along(layer.softmax_param().axis());
  if (type == "InfogainLoss") return along(layer.infogain_loss_param().axis());
  if (type == "Accuracy") return along(layer.accuracy_param().axis());
  if (type == "HingeLoss" || type == "MultinomialLogisticLoss") return scores.count_from(1);
  return std::nullopt;
}

std::optional<int> ignored_label(const Node& node) {
  const caffe::LayerParameter& layer = node.definition;
  if (node.type() == "Accuracy") {
    return layer.accuracy_param().has_ignore_label()
               ? std::optional(layer.accuracy_param().ignore_label())
               : std::nullopt;
  }
  return layer.loss_param().has_ignore_label() ? std::optional(layer.loss_param().ignore_label())
                                               : std::nullopt;
}

class Fit {
 public:
  Fit(const RecordStream& stream, const RecordStats& stats, const caffe::LayerParameter& layer,
      const caffe::NetParameter& net, const caffe::NetState& state)
      : stream_(stream), stats_(stats), layer_(layer), net_(net), state_(state) {}

  std::vector<Remark> all() {
    if (!check_kind() || stats_.good() == 0) return std::move(remarks_);
    const bool shapes = layer_.type() == "HDF5Data" ? check_datasets() : check_pictures();
    check_batch();
    if (shapes) check_net();
    return std::move(remarks_);
  }

 private:
  template <class... Args>
  void say(Remark::Level level, fmt::format_string<Args...> format, Args&&... args) {
    remarks_.push_back({level, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void good(fmt::format_string<Args...> format, Args&&... args) {
    say(Remark::Level::kGood, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    say(Remark::Level::kNote, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void wrong(fmt::format_string<Args...> format, Args&&... args) {
    say(Remark::Level::kWrong, format, std::forward<Args>(args)...);
  }

  bool check_kind() {
    const std::string type = type_for(stream_.kind());
    if (layer_.type() != type) {
      wrong("{} cannot read {} ({}): {} can", layer_.type(), stream_.path(), stream_.kind_name(),
            type);
      return false;
    }
    if (type == "Data") {
      const bool lmdb = stream_.kind() == Kind::kLmdb;
      const bool said_lmdb = layer_.data_param().backend() == caffe::DataParameter::LMDB;
      if (lmdb != said_lmdb) {
        wrong("data_param.backend is {}{}, but the source is {}: write backend: {}",
              said_lmdb ? "LMDB" : "LEVELDB",
              layer_.data_param().has_backend() ? "" : " (the default)",
              lmdb ? "an LMDB" : "a LevelDB", lmdb ? "LMDB" : "LEVELDB");
        return false;
      }
    }
    if (stream_.kind() == Kind::kHdf5 && same_path(source_of(layer_), stream_.path())) {
      wrong("hdf5_data_param.source is an HDF5 file itself; it has to be a text that lists such");
    } else {
      good("the kind of source ({}) is what {} reads", stream_.kind_name(), type);
    }
    return true;
  }

  /// What the transformation gets of a picture of this size.
  Shape decoded(Shape shape) const {
    const auto channels = [&](std::int64_t count) { shape = shape.with(0, count); };
    if (layer_.type() == "ImageData") {
      const caffe::ImageDataParameter& param = layer_.image_data_param();
      channels(param.is_color() ? 3 : 1);
      if (param.new_height() > 0 && param.new_width() > 0) {
        shape = shape.with(1, param.new_height()).with(2, param.new_width());
      }
      return shape;
    }
    const bool raw = stats_.encodings.contains("bytes") || stats_.encodings.contains("float_data");
    if (!raw && layer_.transform_param().force_color()) channels(3);
    if (!raw && layer_.transform_param().force_gray()) channels(1);
    return shape;
  }

  /// False when the layer cannot say what shape a batch has.
  bool check_pictures() {
    caffe::TransformationParameter param = layer_.transform_param();
    std::optional<Transformer> transformer = transformer_of(param);
    if (!transformer) {
      // A mean that cannot be read says nothing about the rest.
      param.clear_mean_file();
      param.clear_mean_value();
      transformer = transformer_of(param);
    }
    if (!transformer) return false;
    const std::optional<Shape> item = item_shape(*transformer);
    if (!item) return false;
    check_values();
    shapes_[layer_.top(0)] = batch_shape(item->dims());
    return check_label_tops();
  }

  std::optional<Transformer> transformer_of(const caffe::TransformationParameter& param) {
    try {
      return Transformer(param, state_.phase(), 0, layer_.name());
    } catch (const Error& error) {
      wrong("{}", error.what());
      return std::nullopt;
    }
  }

  /// What comes out of the transformation for those images that fit it; nothing when that cannot
  /// be said.
  std::optional<Shape> item_shape(const Transformer& transformer) {
    std::map<Shape, std::int64_t> outputs;
    Occurrence refused;
    std::string reason;
    for (const auto& [shape, found] : stats_.shapes) {
      try {
        outputs[transformer.output_shape(decoded(shape))] += found.count;
      } catch (const Error& error) {
        if (reason.empty()) reason = fmt::format("{}: {}", found.first, error.what());
        refused.count += found.count;
      }
    }
    if (refused.count > 0) {
      wrong("{} of {} images do not fit transform_param; {}", with_thousands(refused.count),
            with_thousands(stats_.good()), reason);
    }
    if (outputs.size() > 1 && batch_of(layer_) > 1) {
      wrong(
          "images come out of transform_param in {} sizes, such as {} and {}, but all of a batch "
          "need one: give crop_size, a size to resize to, or batch_size: 1",
          with_thousands(static_cast<long long>(outputs.size())), outputs.begin()->first.str(),
          outputs.rbegin()->first.str());
    } else if (!outputs.empty() && refused.count == 0) {
      good("images come out of transform_param as {}", outputs.begin()->first.str());
    }
    if (!outputs.empty()) return outputs.begin()->first;
    // None fits. What the net wants of one that does is clear only with a crop.
    const caffe::TransformationParameter& param = layer_.transform_param();
    const std::int64_t height = param.has_crop_height() ? param.crop_height() : param.crop_size();
    const std::int64_t width = param.has_crop_width() ? param.crop_width() : param.crop_size();
    if (height == 0 || width == 0 || stats_.shapes.empty()) return std::nullopt;
    return Shape{decoded(stats_.shapes.begin()->first)[0], height, width};
  }

  void check_values() {
    const caffe::TransformationParameter& param = layer_.transform_param();
    double largest = 0;
    for (const ChannelStats& channel : stats_.channels) largest = std::max(largest, channel.max);
    if (largest > 100 && param.scale() == 1 && !param.has_mean_file() &&
        param.mean_value_size() == 0) {
      note(
          "values up to {:g} go into the net as they are: most nets need a mean subtracted, or "
          "scale: 0.00390625",
          largest);
    }
  }

  bool check_label_tops() {
    const int tops = layer_.top_size() - 1;
    if (tops == 0) {
      note("the layer has no top for the labels");
      return true;
    }
    if (stats_.label_counts.size() != 1) return false;  // which has been said
    const auto labels = static_cast<int>(stats_.label_counts.begin()->first);
    if (tops != 1 && tops != labels) {
      wrong(
          "the layer has {} tops for labels, but records have {}: give one top for all of them, "
          "or one for each",
          tops, labels);
      return false;
    }
    for (int top = 1; top <= tops; ++top) {
      const bool all = tops == 1 && labels > 1;
      shapes_[layer_.top(top)] =
          batch_shape(all ? std::vector<std::int64_t>{labels} : std::vector<std::int64_t>{});
      if (!all) label_tops_[layer_.top(top)] = static_cast<std::size_t>(top - 1);
    }
    return true;
  }

  bool check_datasets() {
    const std::vector<std::string> files = stream_.kind() == Kind::kHdf5
                                               ? std::vector<std::string>{stream_.path()}
                                               : read_hdf5_list(stream_.path());
    std::map<std::string, Shape> rows;
    for (const std::string& file : files) {
      const std::vector<Hdf5Dataset> datasets = hdf5_datasets(file);
      for (const std::string& top : layer_.top()) {
        const auto found = std::find_if(datasets.begin(), datasets.end(),
                                        [&](const Hdf5Dataset& set) { return set.name == top; });
        if (found == datasets.end() || found->shape.axes() == 0) {
          wrong("top \"{}\": {} has no such dataset; it holds {}", top, file,
                list_datasets(datasets));
          return false;
        }
        const auto dims = found->shape.dims();
        const Shape row(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
        const auto [known, is_new] = rows.emplace(top, row);
        if (known->second != row) {
          wrong("top \"{}\": rows are {} in {}, but {} in {}", top, row.str(), file,
                known->second.str(), files[0]);
          return false;
        }
      }
    }
    for (const auto& [top, row] : rows) {
      good("top \"{}\" is a dataset with rows of {}", top, row.str());
      shapes_[top] = batch_shape(row.dims());
      if (top == "label" && row.count() == 1 && !stats_.labels.empty()) label_tops_[top] = 0;
    }
    return true;
  }

  Shape batch_shape(std::span<const std::int64_t> item) const {
    std::vector<std::int64_t> dims{std::max<std::int64_t>(batch_of(layer_), 1)};
    dims.insert(dims.end(), item.begin(), item.end());
    return Shape(dims);
  }

  void check_batch() {
    const std::int64_t batch = batch_of(layer_);
    if (batch < 1) {
      wrong("batch_size is {}", batch);
    } else if (batch > stats_.records) {
      note("a batch of {} is larger than the source ({} records): some come several times in it",
           batch, with_thousands(stats_.records));
    }
  }

  void check_net() {
    std::optional<Graph> graph;
    try {
      graph.emplace(build_graph(net_, state_, 0, shapes_));
      infer(*graph);
    } catch (const Error& error) {
      wrong("the net: {}", error.what());
      return;
    }
    good("the net takes {}", shapes_.at(layer_.top(0)).str());
    for (const auto& [top, k] : label_tops_) {
      for (const Node& node : graph->nodes) {
        for (const int value : node.tops) {
          const Value& made = graph->values[static_cast<std::size_t>(value)];
          if (made.blob == top && node.type() == "Input") follow(*graph, made, k);
        }
      }
    }
  }

  /// To the layers that compare scores with label number `k`.
  void follow(const Graph& graph, const Value& value, std::size_t k) {
    if (value.consumer < 0) return;
    const Node& node = graph.nodes[static_cast<std::size_t>(value.consumer)];
    if (node.type() == "Split") {
      for (const int top : node.tops) follow(graph, graph.values[static_cast<std::size_t>(top)], k);
      return;
    }
    if (value.consumer_bottom != 1) return;
    const Shape& scores = graph.values[static_cast<std::size_t>(node.bottoms[0])].shape;
    if (const auto classes = classes_of(node, scores)) check_classes(node, *classes, k);
  }

  void check_classes(const Node& node, std::int64_t classes, std::size_t k) {
    const LabelStats& labels = stats_.labels[k];
    if (labels.not_whole > 0 || labels.not_finite > 0) {
      wrong(
          "{} needs the numbers of classes for labels, but {} of {} are no whole numbers; "
          "EuclideanLoss takes such",
          name_of(node), with_thousands(labels.not_whole + labels.not_finite),
          with_thousands(labels.count));
      return;
    }
    const std::optional<int> ignored = ignored_label(node);
    std::int64_t outside = 0, used = 0;
    std::optional<std::int64_t> example;
    for (const auto& [label, count] : labels.histogram) {
      if (ignored && label == *ignored) continue;
      if (label >= 0 && label < classes) {
        ++used;
        continue;
      }
      outside += count;
      if (!example || (*example < 0 && label > 0)) example = label;
    }
    if (outside > 0) {
      wrong("{} has {} classes (labels 0 to {}), but {}, such as {}; {}", name_of(node),
            with_thousands(classes), classes - 1,
            counted(outside, "record") + (outside == 1 ? " has another" : " have others"), *example,
            labels.min >= 1 && labels.max == static_cast<double>(classes)
                ? "labels start at 1: take 1 off"
            : labels.min < 0 ? "labels count from 0"
                             : fmt::format("num_output has to be {:g}, or the labels are wrong",
                                           labels.max + 1));
      return;
    }
    good("{} has {} classes, and all labels are among them", name_of(node),
         with_thousands(classes));
    if (used < classes) {
      note("{} of the {} classes of {} have no record", with_thousands(classes - used),
           with_thousands(classes), name_of(node));
    }
  }

  const RecordStream& stream_;
  const RecordStats& stats_;
  const caffe::LayerParameter& layer_;
  const caffe::NetParameter& net_;
  const caffe::NetState& state_;
  std::vector<Remark> remarks_;
  std::map<std::string, Shape> shapes_;            ///< of the layer's tops
  std::map<std::string, std::size_t> label_tops_;  ///< tops of one label: which one
};

}  // namespace

DataLayers data_layers_of(const caffe::NetParameter& net, const caffe::NetState& state,
                          const std::string& source) {
  DataLayers all, named;
  const FilteredNet filtered = filter(net, state);
  for (const caffe::LayerParameter& layer : filtered.net.layer()) {
    if (!is_data_layer(layer)) continue;
    all.layers.push_back(layer);
    if (same_path(source_of(layer), source)) named.layers.push_back(layer);
  }
  named.named = !named.layers.empty();
  return named.named ? named : all;
}

std::vector<Remark> fit_data(const RecordStream& stream, const RecordStats& stats,
                             const caffe::LayerParameter& layer, const caffe::NetParameter& net,
                             const caffe::NetState& state) {
  return Fit(stream, stats, layer, net, state).all();
}

}  // namespace crema
