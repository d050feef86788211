// Plain pictures go to the net in one pass over the part that is taken. What augments takes the
// part as floats first, changes it, and writes that.
#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/mean.h"
#include "data/part.h"

namespace crema {
namespace {

/// Two fields that belong together.
PictureSize both_or_neither(std::int64_t height, std::int64_t width, const char* name) {
  require((height > 0) == (width > 0),
          "transform_param.{0}_height is {1} and {0}_width {2}; give both or neither", name, height,
          width);
  return {height, width};
}

PictureSize crop_of(const caffe::TransformationParameter& param) {
  const PictureSize crop = both_or_neither(param.crop_height(), param.crop_width(), "crop");
  if (crop.height == 0) return {param.crop_size(), param.crop_size()};
  require(param.crop_size() == 0, "transform_param has both crop_size and crop_height; give one");
  return crop;
}

PictureSize resize_of(const caffe::TransformationParameter& param) {
  const PictureSize size = both_or_neither(param.resize_height(), param.resize_width(), "resize");
  require(size.height == 0 || param.resize_short_side() == 0,
          "transform_param has both resize_height and resize_short_side; give one");
  require(too_large(size).empty(),
          "transform_param.resize_height and resize_width are {}: at most {} pixels can be",
          size.str(), kMaxPixels);
  return size;
}

void require_finite(float value, const char* field) {
  require(std::isfinite(value), "transform_param.{} is {:g}", field, value);
}

/// The picture in another size; `image` itself if it has that.
ImageView resized(const ImageView& image, PictureSize size, Transformer::Workspace* workspace) {
  if (size == image.size()) return image;
  if (image.bytes) {
    resize_image(image, size.height, size.width, &workspace->resized);
    return workspace->resized.view();
  }
  std::vector<float>& floats = workspace->resized_floats;
  floats.resize(static_cast<std::size_t>(image.channels * size.count()));
  warp(image.floats, image.channels, image.size(), resizing_map(image.size(), size), size,
       &workspace->warp, floats.data());
  return {image.channels, size.height, size.width, nullptr, floats.data()};
}

template <class Value>
void copy_part(const Part<Value>& from, std::int64_t channels, PictureSize size, float* to) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < size.height; ++y, to += size.width) {
      std::copy_n(from.at + c * from.plane + y * from.row, size.width, to);
    }
  }
}

}  // namespace

Transformer::Transformer(const caffe::TransformationParameter& param, caffe::Phase phase,
                         std::uint64_t seed, const std::string& layer_name)
    : crop_(crop_of(param)),
      resize_(resize_of(param)),
      short_side_(param.resize_short_side()),
      square_(param.crop_size() > 0),
      mirror_(param.mirror()),
      random_crop_(phase == caffe::TRAIN),
      decoding_(param.force_color()  ? Decode::kColor
                : param.force_gray() ? Decode::kGray
                                     : Decode::kAsIs),
      normalization_{param.scale(), {param.mean_value().begin(), param.mean_value().end()}},
      random_(seed, stream_id(layer_name)) {
  require(!param.has_mean_file() || normalization_.mean_values.empty(),
          "transform_param has both mean_file and mean_value; only one can be subtracted");
  require(!param.force_color() || !param.force_gray(),
          "transform_param has both force_color and force_gray");
  require_finite(param.scale(), "scale");
  for (const float value : param.mean_value()) require_finite(value, "mean_value");
  // Wrong values are told in the TEST phase as well.
  const Augmentation augmentation(param);
  if (phase == caffe::TRAIN) augmentation_ = augmentation;
  if (param.has_mean_file()) {
    mean_file_ = param.mean_file();
    MeanImage mean = with_context([] { return "transform_param.mean_file"; },
                                  [&] { return read_mean(mean_file_); });
    mean_shape_ = std::move(mean.shape);
    means_ = {std::move(mean.values)};
  }
}

void Transformer::set_views(const Views& views) {
  CREMA_ASSERT(!views_);
  const bool parts = views.parts != Views::Parts::kCentre;
  require(crop_.height > 0 || (!parts && views.scales.size() < 2),
          "several {} of a picture need transform_param.crop_size, or crop_height and crop_width",
          parts ? "parts" : "scales");
  views_ = views;
  augmentation_ = {};
  if (mean_file_.empty()) return;
  const std::vector<float> mean = std::move(means_[0]);
  means_.clear();
  const PictureSize base{mean_shape_[1], mean_shape_[2]};
  WarpScratch scratch;
  for (std::size_t s = 0; s < scale_count(); ++s) {
    const PictureSize frame = frame_of(base, s);
    std::vector<float>& scaled = means_.emplace_back(mean);
    if (frame == base) continue;
    scaled.resize(static_cast<std::size_t>(mean_shape_[0] * frame.count()));
    warp(mean.data(), mean_shape_[0], base, resizing_map(base, frame), frame, &scratch,
         scaled.data());
  }
}

std::size_t Transformer::scale_count() const {
  return views_ ? std::max<std::size_t>(1, views_->scales.size()) : 1;
}

PictureSize Transformer::base_of(PictureSize image) const {
  if (resize_.height > 0) return resize_;
  return short_side_ > 0 ? with_short_side(image, short_side_) : image;
}

PictureSize Transformer::frame_of(PictureSize base, std::size_t scale) const {
  return views_ && !views_->scales.empty() ? with_short_side(base, views_->scales[scale]) : base;
}

std::vector<View> Transformer::view_list(const Shape& image) const {
  const PictureSize base = base_of({image[1], image[2]});
  std::vector<View> list;
  for (std::size_t s = 0; s < scale_count(); ++s) {
    const PictureSize frame = frame_of(base, s);
    const std::vector<View> views = views_of(views_.value_or(Views()), frame, cut_of(frame));
    list.insert(list.end(), views.begin(), views.end());
  }
  return list;
}

Shape Transformer::output_shape(const Shape& image) const {
  CREMA_ASSERT(image.axes() == 3);
  const std::int64_t channels = image[0];
  const PictureSize own{image[1], image[2]}, base = base_of(own);
  // Messages are made when they are needed.
  const auto said = [&](PictureSize size) {
    return size == own ? image.str()
                       : fmt::format("{}, resized to {}x{}", image.str(), channels, size.str());
  };
  const auto require_pixels = [&](PictureSize size) {
    require(too_large(size).empty(), "the image is {}: at most {} pixels can be", said(size),
            kMaxPixels);
  };
  const bool sampled = augmentation_.warps() || base != own || (views_ && !views_->scales.empty());
  if (sampled) {
    require_pixels(own);
    require_pixels(base);
  }
  if (!mean_file_.empty() && mean_shape_ != Shape{channels, base.height, base.width}) {
    const bool cropped =
        crop_.height > 0 && mean_shape_[1] == crop_.height && mean_shape_[2] == crop_.width;
    fail("the image is {}, but the mean file {} is {}{}{}", said(base), mean_file_,
         mean_shape_.str(),
         cropped ? "; a mean has the size of the whole image, it is cropped together with it" : "",
         channels_first_hint(image));
  }
  if (const std::size_t count = normalization_.mean_values.size(); count > 1) {
    require(static_cast<std::int64_t>(count) == channels,
            "the image is {}, with {} channel{}, but there are {} mean_value; give one, or one for "
            "each channel{}",
            image.str(), channels, channels == 1 ? "" : "s", count, channels_first_hint(image));
  }
  PictureSize cut;
  for (std::size_t s = 0; s < scale_count(); ++s) {
    const PictureSize frame = frame_of(base, s);
    if (frame != base) require_pixels(frame);
    cut = cut_of(frame);
    if (frame.height >= cut.height && frame.width >= cut.width) continue;
    std::string hint = channels_first_hint(image);
    if (hint.empty() && frame == own) {
      hint = "; resize_short_side, or resize_height and resize_width, would enlarge it";
    }
    fail("the image is {}, smaller than {}{}", said(frame),
         square_ ? fmt::format("crop_size {}", crop_.height)
                 : fmt::format("crop_height and crop_width, {}", crop_.str()),
         hint);
  }
  require(!augmentation_.mixes_channels() || channels == 3,
          "the image is {}; transform_param.saturation and hue need colours, 3 channels{}",
          image.str(), channels_first_hint(image));
  require(augmentation_.cutout_size() <= std::min(cut.height, cut.width),
          "transform_param.cutout_size is {}, larger than what is cut into, {}x{}",
          augmentation_.cutout_size(), channels, cut.str());
  return {channels, cut.height, cut.width};
}

View Transformer::place(PictureSize frame, std::uint64_t ordinal) const {
  View view{frame, 0, 0, cut_of(frame), false};
  if (mirror_) view.mirror = random_.below(ordinal, 0, 2) == 1;
  const std::int64_t down = frame.height - view.size.height;
  const std::int64_t right = frame.width - view.size.width;
  if (crop_.height > 0 && random_crop_) {
    view.top = random_.below(ordinal, 1, static_cast<std::uint32_t>(down + 1));
    view.left = random_.below(ordinal, 2, static_cast<std::uint32_t>(right + 1));
  } else {
    view.top = down / 2;
    view.left = right / 2;
  }
  return view;
}

void Transformer::take(const ImageView& frame, const View& view, std::size_t scale,
                       float* out) const {
  const Part<float> mean = part_of(means_.empty() ? nullptr : means_[scale].data(), view);
  if (frame.bytes) {
    write_part(part_of(frame.bytes, view), mean, normalization_, frame.channels, view.size,
               view.mirror, out);
  } else {
    write_part(part_of(frame.floats, view), mean, normalization_, frame.channels, view.size,
               view.mirror, out);
  }
}

void Transformer::take_changed(const ImageView& image, const View& view, std::uint64_t ordinal,
                               Workspace* workspace, float* out) const {
  const std::int64_t pixels = view.size.count();
  std::vector<float>& values = workspace->values;
  values.resize(static_cast<std::size_t>(image.channels * pixels));
  Part<float> mean = part_of(means_.empty() ? nullptr : means_[0].data(), view);
  if (augmentation_.warps()) {
    const LinearMap map = augmentation_.map(random_, ordinal, view, image.size());
    if (image.bytes) {
      warp(image.bytes, image.channels, image.size(), map, view.size, &workspace->warp,
           values.data());
    } else {
      warp(image.floats, image.channels, image.size(), map, view.size, &workspace->warp,
           values.data());
    }
    if (mean.at) {
      workspace->mean.resize(values.size());
      warp(means_[0].data(), image.channels, view.frame,
           augmentation_.map(random_, ordinal, view, view.frame), view.size, &workspace->warp,
           workspace->mean.data());
      mean = {workspace->mean.data(), view.size.width, pixels};
    }
  } else {
    const ImageView frame = resized(image, view.frame, workspace);
    if (frame.bytes) {
      copy_part(part_of(frame.bytes, view), frame.channels, view.size, values.data());
    } else {
      copy_part(part_of(frame.floats, view), frame.channels, view.size, values.data());
    }
  }
  if (augmentation_.recolors()) {
    augmentation_.recolor(random_, ordinal, image.channels, pixels, image.bytes != nullptr,
                          values.data());
  }
  write_part(Part<float>{values.data(), view.size.width, pixels}, mean, normalization_,
             image.channels, view.size, view.mirror, out);
}

void Transformer::transform(const ImageView& image, std::uint64_t ordinal, Workspace* workspace,
                            float* out) const {
  const PictureSize base = base_of(image.size());
  if (views_) {
    for (std::size_t s = 0; s < scale_count(); ++s) {
      const PictureSize frame = frame_of(base, s);
      const ImageView picture = resized(image, frame, workspace);
      for (const View& view : views_of(*views_, frame, cut_of(frame))) {
        take(picture, view, s, out);
        out += image.channels * view.size.count();
      }
    }
    return;
  }
  const View view = place(base, ordinal);
  if (augmentation_.warps() || augmentation_.recolors()) {
    take_changed(image, view, ordinal, workspace, out);
  } else {
    take(resized(image, base, workspace), view, 0, out);
  }
  if (augmentation_.cuts_out()) {
    augmentation_.cut_out(random_, ordinal, image.channels, view.size, out);
  }
}

}  // namespace crema
