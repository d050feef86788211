// "ImageData": picture files and labels out of a list.
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "data/image_list.h"
#include "data/image_source.h"
#include "data/permutation.h"

namespace crema {
namespace {

class ImageListSource final : public ImageSource {
 public:
  ImageListSource(const caffe::LayerParameter& layer, Transformer transformer, std::uint64_t seed,
                  const ReaderOptions& reading)
      : ImageSource(std::move(transformer), layer.top_size() - 1,
                    layer.image_data_param().new_height() > 0),
        list_(layer.image_data_param().source(), label_count(layer.image_data_param())),
        param_(layer.image_data_param()),
        shuffling_(seed, stream_id(layer.name(), 1)) {
    if (param_.rand_skip() > 0) {
      require(param_.rand_skip() <= static_cast<std::uint64_t>(list_.size()),
              "image_data_param.rand_skip is {}, but {} has {} lines", param_.rand_skip(),
              list_.path(), list_.size());
      first_ = RandomStream(seed, stream_id(layer.name(), 2)).below(0, 0, param_.rand_skip());
    }
    measure(reading);
  }

  std::int64_t records() const override { return list_.size(); }

  std::unique_ptr<Workspace> new_workspace() const override {
    return std::make_unique<FileWorkspace>();
  }

  void seek(std::uint64_t position) override { next_ = position; }

  void fetch(Record* record) override {
    const auto size = static_cast<std::uint64_t>(list_.size());
    const auto place = static_cast<std::int64_t>((next_ + first_) % size);
    record->origin.row = place;
    if (param_.shuffle()) {
      const std::uint64_t epoch = next_ / size;
      if (!order_ || epoch != epoch_) order_.emplace(shuffling_, epoch, list_.size());
      epoch_ = epoch;
      record->origin.row = (*order_)[place];
    }
    ++next_;
  }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("{} ({})", list_.name(origin.row), list_.where(origin.row));
  }

  std::string where(const RecordOrigin& origin) const override {
    return fmt::format("{}: {}", list_.where(origin.row), list_.name(origin.row));
  }

 private:
  struct FileWorkspace final : PictureWorkspace {
    Image resized;
  };

  static int label_count(const caffe::ImageDataParameter& param) {
    return positive_int(param.label_count(), "image_data_param.label_count");
  }

  void load(const Record& record, PictureWorkspace* workspace) const override {
    auto& work = *static_cast<FileWorkspace*>(workspace);
    const std::int64_t row = record.origin.row;
    with_context([&] { return list_.where(row); },
                 [&] {
                   const std::string path = list_.file(row, param_.root_folder());
                   const std::string file = read_listed_file(path);
                   with_context([&] { return path; },
                                [&] {
                                  decode_image(file,
                                               param_.is_color() ? Decode::kColor : Decode::kGray,
                                               &work.decoded);
                                });
                 });
    work.image = work.decoded.view();
    if (param_.new_height() > 0) {
      resize_image(work.decoded, param_.new_height(), param_.new_width(), &work.resized);
      work.image = work.resized.view();
    }
    const std::span<const float> labels = list_.labels(row);
    work.labels.assign(labels.begin(), labels.end());
  }

  const ImageList list_;
  const caffe::ImageDataParameter param_;
  const RandomStream shuffling_;
  std::uint64_t first_ = 0;  ///< of rand_skip
  std::uint64_t next_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<Permutation> order_;
};

}  // namespace

std::unique_ptr<BatchReader> open_image_list(const caffe::LayerParameter& layer, caffe::Phase phase,
                                             std::uint64_t seed, const ReaderOptions& reading) {
  const caffe::ImageDataParameter& param = layer.image_data_param();
  require(layer.top_size() >= 2,
          "an ImageData layer has a top for the pictures and one or more for the labels, not {} in "
          "all",
          layer.top_size());
  require(!param.source().empty(), "image_data_param has no source");
  require((param.new_height() > 0) == (param.new_width() > 0),
          "image_data_param.new_height is {} and new_width {}; give both or neither",
          param.new_height(), param.new_width());
  if (param.new_height() > 0) {
    positive_int(param.new_height(), "image_data_param.new_height");
    positive_int(param.new_width(), "image_data_param.new_width");
    // More than any picture has; a product that cannot overflow.
    require(std::uint64_t{param.new_height()} * param.new_width() <= std::uint64_t{1} << 30,
            "image_data_param: {}x{} pixels are too many", param.new_height(), param.new_width());
  }
  ReadAheadOptions options;
  options.batch_size = positive_int(param.batch_size(), "image_data_param.batch_size");
  options.reading = reading;
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(std::make_unique<ImageListSource>(layer, std::move(transformer), seed, reading),
                    options);
}

}  // namespace crema
