// "WindowData": parts of images, foreground and background, drawn at random.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/philox.h"
#include "data/batch_source.h"
#include "data/image.h"
#include "data/image_codecs.h"
#include "data/mean.h"
#include "data/window_list.h"

namespace crema {
namespace {

constexpr std::int64_t kChannels = 3;

class WindowSource final : public BatchSource {
 public:
  WindowSource(const caffe::LayerParameter& layer, std::uint64_t seed)
      : param_(layer.window_data_param()),
        list_(param_.source()),
        random_(seed, stream_id(layer.name())),
        mirror_(layer.transform_param().mirror()),
        mean_values_(layer.transform_param().mean_value().begin(),
                     layer.transform_param().mean_value().end()) {
    crop_.size = layer.transform_param().crop_size();
    crop_.context = param_.context_pad();
    crop_.square = param_.crop_mode() == "square";
    item_shapes_ = {Shape{kChannels, crop_.size, crop_.size}, Shape{}};
    read_mean(layer.transform_param());
    sort_windows();
  }

  const std::vector<Shape>& item_shapes() const override { return item_shapes_; }
  std::int64_t records() const override {
    return static_cast<std::int64_t>(foreground_.size() + background_.size());
  }
  std::unique_ptr<Record> new_record() const override { return std::make_unique<WindowRecord>(); }
  std::unique_ptr<Workspace> new_workspace() const override {
    return std::make_unique<WindowWorkspace>();
  }

  void seek(std::uint64_t position) override { ordinal_ = position; }

  void fetch(Record* fetched) override {
    auto& record = *static_cast<WindowRecord*>(fetched);
    const auto in_front = static_cast<int>(static_cast<float>(record.batch) * param_.fg_fraction());
    record.foreground = record.index >= record.batch - in_front;
    const std::vector<std::int64_t>& from = record.foreground ? foreground_ : background_;
    require(!from.empty(), "{} has no {} windows (window_data_param.{}), but a batch needs some",
            list_.path, record.foreground ? "foreground" : "background",
            record.foreground ? "fg_threshold" : "bg_threshold");
    record.origin.row = from[random_.below(ordinal_, 0, static_cast<std::uint32_t>(from.size()))];
    record.mirror = mirror_ && random_.below(ordinal_, 1, 2) == 1;
    ++ordinal_;
  }

  void finish(const Record& fetched, Workspace* workspace, ItemTarget* target) const override {
    const auto& record = static_cast<const WindowRecord&>(fetched);
    const std::int64_t index = record.origin.row;
    const WindowList::Window& window = list_.windows[static_cast<std::size_t>(index)];
    const std::vector<float*>& tops = target->regular();
    with_context(
        [&] { return where(record.origin); },
        [&] { cut(window, record.mirror, static_cast<WindowWorkspace*>(workspace), tops[0]); });
    tops[1][0] = record.foreground ? static_cast<float>(window.label) : 0;
  }

  std::string describe(const RecordOrigin& origin) const override {
    const WindowList::Window& window = list_.windows[static_cast<std::size_t>(origin.row)];
    return fmt::format("a window of {} ({})", list_.images[static_cast<std::size_t>(window.image)],
                       place_of(origin.row));
  }
  std::string where(const RecordOrigin& origin) const override { return place_of(origin.row); }

 private:
  struct WindowRecord final : Record {
    bool foreground = false, mirror = false;
  };
  struct WindowWorkspace final : Workspace {
    Image image;
    std::vector<std::uint8_t> warped;
  };

  std::string place_of(std::int64_t index) const {
    return fmt::format("{}:{}", list_.path, list_.windows[static_cast<std::size_t>(index)].line);
  }

  void read_mean(const caffe::TransformationParameter& transform) {
    const std::size_t values = mean_values_.size();
    require(!transform.has_mean_file() || values == 0,
            "transform_param has both mean_file and mean_value; only one can be subtracted");
    require(values <= 1 || values == kChannels,
            "transform_param has {} mean_value; give one, or one for each of the {} channels",
            values, kChannels);
    if (!transform.has_mean_file()) return;
    mean_ = crema::read_mean(transform.mean_file());
    const Shape& shape = mean_.shape;
    require(shape[0] == kChannels && shape[1] >= crop_.size && shape[2] >= crop_.size,
            "the mean file {} is {}, too small for windows of {}", transform.mean_file(),
            shape.str(), item_shapes_[0].str());
  }

  void sort_windows() {
    for (std::size_t i = 0; i < list_.windows.size(); ++i) {
      const WindowList::Window& window = list_.windows[i];
      const auto index = static_cast<std::int64_t>(i);
      if (window.overlap >= param_.fg_threshold()) {
        require(window.label > 0,
                "{}: the window overlaps by {:g}, so it is foreground, but its class is {}; "
                "classes count from 1",
                place_of(index), window.overlap, window.label);
        foreground_.push_back(index);
      } else if (window.overlap < param_.bg_threshold()) {
        background_.push_back(index);
      }
    }
  }

  void read(std::int64_t index, Image* image) const {
    const std::string path = param_.root_folder() + list_.images[static_cast<std::size_t>(index)];
    if (!param_.cache_images()) {
      read_image(path, Decode::kColor, image);
      return;
    }
    const std::shared_ptr<const std::string> file = cached(index, path);
    with_context([&] { return path; }, [&] { decode_image(*file, Decode::kColor, image); });
  }

  /// The bytes of an image's file, which is read once (or a few times, by threads that meet).
  std::shared_ptr<const std::string> cached(std::int64_t index, const std::string& path) const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto found = files_.find(index); found != files_.end()) return found->second;
    }
    auto file = std::make_shared<const std::string>(read_file(path));
    const std::lock_guard<std::mutex> lock(mutex_);
    return files_.try_emplace(index, std::move(file)).first->second;
  }

  /// Writes one item. What lies outside of the image stays 0, without mean, as in Caffe.
  void cut(const WindowList::Window& window, bool mirror, WindowWorkspace* work, float* out) const {
    const Image& image = work->image;
    read(window.image, &work->image);
    const WindowPlacement at = place_window(window, crop_, image.height, image.width, mirror);
    std::fill_n(out, item_shapes_[0].count(), 0.0f);
    if (at.width <= 0 || at.height <= 0) return;
    work->warped.resize(static_cast<std::size_t>(at.width * at.height));
    for (std::int64_t c = 0; c < kChannels; ++c) {
      const std::uint8_t* const plane =
          image.bytes.data() + (c * image.height + at.y) * image.width + at.x;
      const std::string problem =
          image_codecs().resize(plane, {at.source_height, at.source_width, image.width},
                                work->warped.data(), {at.height, at.width, at.width});
      require(problem.empty(), "cannot resize the window: {}", problem);
      for (std::int64_t y = 0; y < at.height; ++y) {
        const std::uint8_t* const from = work->warped.data() + y * at.width;
        float* const to = out + (c * crop_.size + at.top + y) * crop_.size + at.left;
        for (std::int64_t x = 0; x < at.width; ++x) {
          const float value = from[mirror ? at.width - 1 - x : x];
          to[x] = (value - mean_at(c, at.top + y, at.left + x)) * param_.scale();
        }
      }
    }
  }

  /// Of the middle of the mean image; not flipped with the window.
  float mean_at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    if (!mean_.values.empty()) {
      const std::int64_t height = mean_.shape[1], width = mean_.shape[2];
      const std::int64_t row = c * height + y + (height - crop_.size) / 2;
      return mean_.values[static_cast<std::size_t>(row * width + x + (width - crop_.size) / 2)];
    }
    if (mean_values_.empty()) return 0;
    return mean_values_[mean_values_.size() == 1 ? 0 : static_cast<std::size_t>(c)];
  }

  const caffe::WindowDataParameter param_;
  const WindowList list_;
  const RandomStream random_;
  const bool mirror_;
  WindowCrop crop_;
  MeanImage mean_;
  std::vector<float> mean_values_;
  std::vector<Shape> item_shapes_;
  std::vector<std::int64_t> foreground_, background_;  ///< indices of windows
  std::uint64_t ordinal_ = 0;
  mutable std::mutex mutex_;  ///< guards what follows
  mutable std::map<std::int64_t, std::shared_ptr<const std::string>> files_;  ///< of cache_images
};

/// Of transform_param windows take crop_size, mirror, mean and scale; what Crema added to it has no
/// meaning for them.
void refuse_own_fields(const caffe::TransformationParameter& transform) {
  constexpr int kFirstOwnField = 10000;
  std::vector<const google::protobuf::FieldDescriptor*> set;
  transform.GetReflection()->ListFields(transform, &set);
  for (const google::protobuf::FieldDescriptor* field : set) {
    require(field->number() < kFirstOwnField, "transform_param.{} has no effect on WindowData",
            field->name());
  }
}

}  // namespace

std::unique_ptr<BatchReader> open_windows(const caffe::LayerParameter& layer, std::uint64_t seed,
                                          const ReaderOptions& reading) {
  const caffe::WindowDataParameter& param = layer.window_data_param();
  require(layer.top_size() == 2, "a WindowData layer has 2 tops (the pictures, the labels), not {}",
          layer.top_size());
  require(!param.source().empty(), "window_data_param has no source");
  require(param.crop_mode() == "warp" || param.crop_mode() == "square",
          "window_data_param.crop_mode is \"{}\"; it can be \"warp\" or \"square\"",
          param.crop_mode());
  refuse_own_fields(layer.transform_param());
  const std::uint64_t crop = layer.transform_param().crop_size();
  require(crop > 0 && crop <= 1 << 15, "transform_param.crop_size is {}; windows need 1 to {}",
          crop, 1 << 15);
  require(2 * std::uint64_t{param.context_pad()} < crop,
          "window_data_param.context_pad is {} on each side: nothing is left of crop_size {}",
          param.context_pad(), crop);
  require(param.fg_fraction() >= 0 && param.fg_fraction() <= 1,
          "window_data_param.fg_fraction is {:g}; it can be 0 to 1", param.fg_fraction());
  ReadAheadOptions options;
  options.batch_size = positive_int(param.batch_size(), "window_data_param.batch_size");
  options.reading = reading;
  return read_ahead(std::make_unique<WindowSource>(layer, seed), options);
}

}  // namespace crema
