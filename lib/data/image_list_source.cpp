// "ImageData": picture files and labels out of a list.
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/image_list.h"
#include "data/image_source.h"
#include "data/permutation.h"

namespace crema {
namespace {

class ImageListSource final : public ImageSource {
 public:
  ImageListSource(const caffe::LayerParameter& layer, Transformer transformer, std::uint64_t seed)
      : ImageSource(std::move(transformer), true, layer.image_data_param().new_height() > 0),
        list_(layer.image_data_param().source()),
        param_(layer.image_data_param()),
        shuffling_(seed, stream_id(layer.name(), 1)) {
    if (param_.rand_skip() > 0) {
      require(param_.rand_skip() <= static_cast<std::uint64_t>(list_.size()),
              "image_data_param.rand_skip is {}, but {} has {} lines", param_.rand_skip(),
              list_.path(), list_.size());
      first_ = RandomStream(seed, stream_id(layer.name(), 2)).below(0, 0, param_.rand_skip());
    }
    measure();
  }

  std::int64_t records() const override { return list_.size(); }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("{} ({})", list_.name(origin.row), list_.where(origin.row));
  }

 private:
  void go_to(std::uint64_t position) override { next_ = position + first_; }

  void load(Record* record) override {
    const auto size = static_cast<std::uint64_t>(list_.size());
    const auto place = static_cast<std::int64_t>(next_ % size);
    record->origin.row = place;
    if (param_.shuffle()) {
      const std::uint64_t epoch = next_ / size;
      if (!order_ || epoch != epoch_) order_.emplace(shuffling_, epoch, list_.size());
      epoch_ = epoch;
      record->origin.row = (*order_)[place];
    }
    with_context([&] { return list_.where(record->origin.row); },
                 [&] {
                   const std::string path = list_.file(record->origin.row, param_.root_folder());
                   const std::string file = read_listed_file(path);
                   with_context([&] { return path; },
                                [&] {
                                  decode_image(file,
                                               param_.is_color() ? Decode::kColor : Decode::kGray,
                                               &read_);
                                });
                 });
    record->label = list_.labels(record->origin.row)[0];
    record->image = read_.view();
    if (param_.new_height() > 0) {
      resize_image(read_, param_.new_height(), param_.new_width(), &resized_);
      record->image = resized_.view();
    }
    ++next_;
  }

  std::string where(const RecordOrigin& origin) const override {
    return fmt::format("{}: {}", list_.where(origin.row), list_.name(origin.row));
  }

  const ImageList list_;
  const caffe::ImageDataParameter param_;
  const RandomStream shuffling_;
  std::uint64_t first_ = 0;  ///< of rand_skip
  std::uint64_t next_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<Permutation> order_;
  Image read_, resized_;
};

}  // namespace

std::unique_ptr<BatchReader> open_image_list(const caffe::LayerParameter& layer, caffe::Phase phase,
                                             std::uint64_t seed) {
  const caffe::ImageDataParameter& param = layer.image_data_param();
  require(layer.top_size() == 2, "an ImageData layer has 2 tops (the pictures, the labels), not {}",
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
  const int batch_size = positive_int(param.batch_size(), "image_data_param.batch_size");
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(std::make_unique<ImageListSource>(layer, std::move(transformer), seed),
                    batch_size, 0);
}

}  // namespace crema
