// Cropping, mirroring, mean and scale in one pass over a picture. Rows have a loop of their own for
// each kind of value and mean, so that the compiler vectorises them.
#include "data/transform.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/mean.h"

namespace crema {
namespace {

/// One row: (in - mean) * scale, with a mean for the row or one for each of its elements.
template <class Value, bool kMeanRow>
void transform_row(const Value* __restrict in, const float* __restrict mean_row, float mean,
                   float scale, std::int64_t width, float* __restrict out) {
  for (std::int64_t x = 0; x < width; ++x) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): mean_row is there when kMeanRow says so
    out[x] = (static_cast<float>(in[x]) - (kMeanRow ? mean_row[x] : mean)) * scale;
  }
}

/// The same, written from the right. The compiler vectorises the reversal of floats, but not one
/// that comes with a conversion, hence in two steps.
template <class Value, bool kMeanRow>
void transform_row_mirrored(const Value* __restrict in, const float* __restrict mean_row,
                            float mean, float scale, std::int64_t width, float* __restrict out) {
  constexpr std::int64_t kPart = 256;
  float part[kPart];
  for (std::int64_t x = 0; x < width; x += kPart) {
    const std::int64_t count = std::min(kPart, width - x);
    transform_row<Value, kMeanRow>(in + x, kMeanRow ? mean_row + x : nullptr, mean, scale, count,
                                   part);
    float* __restrict to = out + width - x - count;
    for (std::int64_t i = 0; i < count; ++i) to[i] = part[count - 1 - i];
  }
}

}  // namespace

Transformer::Transformer(const caffe::TransformationParameter& param, caffe::Phase phase,
                         std::uint64_t seed, const std::string& layer_name)
    : crop_(param.crop_size()),
      mirror_(param.mirror()),
      random_crop_(phase == caffe::TRAIN),
      decoding_(param.force_color()  ? Decode::kColor
                : param.force_gray() ? Decode::kGray
                                     : Decode::kAsIs),
      scale_(param.scale()),
      mean_values_(param.mean_value().begin(), param.mean_value().end()),
      random_(seed, stream_id(layer_name)) {
  require(!param.has_mean_file() || mean_values_.empty(),
          "transform_param has both mean_file and mean_value; only one can be subtracted");
  require(!param.force_color() || !param.force_gray(),
          "transform_param has both force_color and force_gray");
  if (param.has_mean_file()) {
    mean_file_ = param.mean_file();
    MeanImage mean = read_mean(mean_file_);
    mean_shape_ = std::move(mean.shape);
    mean_ = std::move(mean.values);
  }
}

Shape Transformer::output_shape(const Shape& image) const {
  CREMA_ASSERT(image.axes() == 3);
  const std::int64_t channels = image[0], height = image[1], width = image[2];
  if (!mean_file_.empty() && mean_shape_ != image) {
    const bool cropped = crop_ > 0 && mean_shape_[1] == crop_ && mean_shape_[2] == crop_;
    fail("the image is {}, but the mean file {} is {}{}{}", image.str(), mean_file_,
         mean_shape_.str(),
         cropped ? "; a mean has the size of the whole image, it is cropped together with it" : "",
         channels_first_hint(image));
  }
  if (!mean_values_.empty()) {
    const auto count = static_cast<std::int64_t>(mean_values_.size());
    require(count == 1 || count == channels,
            "the image is {}, with {} channel{}, but there are {} mean_value; give one, or one for "
            "each channel{}",
            image.str(), channels, channels == 1 ? "" : "s", count, channels_first_hint(image));
  }
  if (crop_ == 0) return image;
  require(height >= crop_ && width >= crop_, "the image is {}, smaller than crop_size {}{}",
          image.str(), crop_, channels_first_hint(image));
  return {channels, crop_, crop_};
}

Transformer::Placement Transformer::place(const Shape& image, std::uint64_t ordinal) const {
  Placement placement;
  if (mirror_) placement.mirror = random_.below(ordinal, 0, 2) == 1;
  if (crop_ == 0) return placement;
  const std::int64_t down = image[1] - crop_, right = image[2] - crop_;
  if (random_crop_) {
    placement.top = random_.below(ordinal, 1, static_cast<std::uint32_t>(down + 1));
    placement.left = random_.below(ordinal, 2, static_cast<std::uint32_t>(right + 1));
  } else {
    placement.top = down / 2;
    placement.left = right / 2;
  }
  return placement;
}

template <class Value>
void Transformer::transform(const Value* in, const ImageView& image, const Placement& placement,
                            float* out) const {
  const std::int64_t height = crop_ > 0 ? crop_ : image.height;
  const std::int64_t width = crop_ > 0 ? crop_ : image.width;
  const auto row =
      mean_.empty()
          ? (placement.mirror ? transform_row_mirrored<Value, false> : transform_row<Value, false>)
          : (placement.mirror ? transform_row_mirrored<Value, true> : transform_row<Value, true>);
  for (std::int64_t c = 0; c < image.channels; ++c) {
    float mean = 0;
    if (!mean_values_.empty()) {
      mean = mean_values_[mean_values_.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    }
    std::int64_t from = (c * image.height + placement.top) * image.width + placement.left;
    for (std::int64_t y = 0; y < height; ++y, from += image.width, out += width) {
      row(in + from, mean_.empty() ? nullptr : mean_.data() + from, mean, scale_, width, out);
    }
  }
}

void Transformer::transform(const ImageView& image, std::uint64_t ordinal, Workspace* /*workspace*/,
                            float* out) const {
  const Placement placement = place(image.shape(), ordinal);
  if (image.bytes) {
    transform(image.bytes, image, placement, out);
  } else {
    transform(image.floats, image, placement, out);
  }
}

}  // namespace crema
