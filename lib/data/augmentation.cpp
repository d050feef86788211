#include "data/augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"

namespace crema {
namespace {

/// Random numbers of a record: 0 to 2 are those of mirror and crop (transform.cpp).
enum Lane : std::uint64_t {
  kAngle = 3,
  kScale,
  kAspect,
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kCutouts = 16,  ///< two for each
};

double in_range(float value, const char* field, float least, float most) {
  require(value >= least && value <= most, "transform_param.{} is {:g}; it can be {:g} to {:g}",
          field, value, least, most);
  return value;
}

/// From -most to most.
double even(const RandomStream& random, std::uint64_t ordinal, Lane lane, double most) {
  return (2.0 * random.uniform(ordinal, lane) - 1) * most;
}

/// From least to most, the logarithm evenly distributed.
double factor(const RandomStream& random, std::uint64_t ordinal, Lane lane, double least,
              double most) {
  return least * std::pow(most / least, static_cast<double>(random.uniform(ordinal, lane)));
}

using Matrix = std::array<std::array<float, 3>, 3>;

/// gain * hue * saturation, for columns of blue, green, red.
Matrix color_matrix(double gain, double saturation, double angle) {
  constexpr double kGrey[] = {0.114, 0.587, 0.299};
  const double cos = std::cos(angle), around = std::sin(angle) / std::numbers::sqrt3;
  const double all = (1 - cos) / 3;
  Matrix product{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        // Red turns to green, green to blue, blue to red: to the channel before.
        const double hue = k == i ? cos + all : k == (i + 1) % 3 ? all + around : all - around;
        sum += hue * ((k == j ? saturation : 0) + (1 - saturation) * kGrey[j]);
      }
      product[i][j] = static_cast<float>(gain * sum);
    }
  }
  return product;
}

/// Values are held to this range; those that are no numbers stay so.
struct Range {
  float operator()(float value) const {
    const float high = value < least ? least : value;
    return high > most ? most : high;
  }
  float least, most;
};

Range range_of(bool bytes) {
  constexpr float kAny = std::numeric_limits<float>::infinity();
  return bytes ? Range{0, 255} : Range{-kAny, kAny};
}

void mix(const Matrix& m, float offset, Range range, std::int64_t count, float* __restrict blue,
         float* __restrict green, float* __restrict red) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float b = blue[i], g = green[i], r = red[i];
    blue[i] = range(m[0][0] * b + m[0][1] * g + m[0][2] * r + offset);
    green[i] = range(m[1][0] * b + m[1][1] * g + m[1][2] * r + offset);
    red[i] = range(m[2][0] * b + m[2][1] * g + m[2][2] * r + offset);
  }
}

void change(float gain, float offset, Range range, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = range(gain * values[i] + offset);
}

/// In double, in several sums at once: one alone would wait for each addition.
double sum_of(const float* values, std::int64_t count) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(values[i + k]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

/// The mean grey of all pixels.
double mean_grey(std::int64_t channels, std::int64_t pixels, const float* planes) {
  constexpr double kGrey[] = {0.114, 0.587, 0.299};
  double grey = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double weight = channels == 3 ? kGrey[c] : 1 / static_cast<double>(channels);
    grey += weight * sum_of(planes + c * pixels, pixels);
  }
  return grey / static_cast<double>(pixels);
}

}  // namespace

Augmentation::Augmentation(const caffe::TransformationParameter& param)
    : rotation_(in_range(param.rotation(), "rotation", 0, 180)),
      min_scale_(in_range(param.min_scale(), "min_scale", 0.01F, 100)),
      max_scale_(in_range(param.max_scale(), "max_scale", 0.01F, 100)),
      aspect_(in_range(param.max_aspect_ratio(), "max_aspect_ratio", 1, 100)),
      brightness_(in_range(param.brightness(), "brightness", 0, 1)),
      contrast_(in_range(param.contrast(), "contrast", 0, 1)),
      saturation_(in_range(param.saturation(), "saturation", 0, 1)),
      hue_(in_range(param.hue(), "hue", 0, 0.5F)),
      cutout_size_(param.cutout_size()),
      cutout_count_(param.cutout_count()) {
  require(min_scale_ <= max_scale_,
          "transform_param.min_scale is {:g}, more than max_scale, which is {:g}", min_scale_,
          max_scale_);
  require(!param.has_cutout_count() || cutout_size_ > 0,
          "transform_param.cutout_count is {}, but cutout_size is not given", cutout_count_);
  in_range(static_cast<float>(cutout_count_), "cutout_count", 1, 1000);
}

LinearMap Augmentation::map(const RandomStream& random, std::uint64_t ordinal, const View& view,
                            PictureSize from) const {
  const double angle = even(random, ordinal, kAngle, rotation_) * std::numbers::pi / 180;
  const double scale = factor(random, ordinal, kScale, min_scale_, max_scale_);
  const double wide = std::sqrt(factor(random, ordinal, kAspect, 1 / aspect_, aspect_));
  // From the part's middle to that of a pixel, turned back and made smaller.
  const double cos = std::cos(angle) / scale, sin = std::sin(angle) / scale;
  LinearMap map;
  map.column_x = cos / wide;
  map.column_y = sin / wide;
  map.row_x = -sin * wide;
  map.row_y = cos * wide;
  const double half_height = 0.5 * static_cast<double>(view.size.height);
  const double half_width = 0.5 * static_cast<double>(view.size.width);
  const double y = 0.5 - half_height, x = 0.5 - half_width;  // of the first pixel
  map.row = static_cast<double>(view.top) + half_height + map.row_y * y + map.row_x * x;
  map.column = static_cast<double>(view.left) + half_width + map.column_y * y + map.column_x * x;
  // From the frame to the source.
  const double down = static_cast<double>(from.height) / static_cast<double>(view.frame.height);
  const double right = static_cast<double>(from.width) / static_cast<double>(view.frame.width);
  map.row = map.row * down - 0.5;
  map.row_y *= down;
  map.row_x *= down;
  map.column = map.column * right - 0.5;
  map.column_y *= right;
  map.column_x *= right;
  return map;
}

void Augmentation::recolor(const RandomStream& random, std::uint64_t ordinal, std::int64_t channels,
                           std::int64_t pixels, bool bytes, float* planes) const {
  const double brightness = 1 + even(random, ordinal, kBrightness, brightness_);
  const double contrast = 1 + even(random, ordinal, kContrast, contrast_);
  const double gain = brightness * contrast;
  const double offset =
      contrast == 1 ? 0 : (1 - contrast) * brightness * mean_grey(channels, pixels, planes);
  if (!mixes_channels()) {
    change(static_cast<float>(gain), static_cast<float>(offset), range_of(bytes), channels * pixels,
           planes);
    return;
  }
  CREMA_ASSERT(channels == 3);
  const double saturation = 1 + even(random, ordinal, kSaturation, saturation_);
  const double angle = even(random, ordinal, kHue, hue_) * 2 * std::numbers::pi;
  // The matrix leaves greys as they are, and so the offset.
  mix(color_matrix(gain, saturation, angle), static_cast<float>(offset), range_of(bytes), pixels,
      planes, planes + pixels, planes + 2 * pixels);
}

void Augmentation::cut_out(const RandomStream& random, std::uint64_t ordinal, std::int64_t channels,
                           PictureSize size, float* planes) const {
  for (std::int64_t i = 0; i < cutout_count_; ++i) {
    const auto lane = kCutouts + 2 * static_cast<std::uint64_t>(i);
    const std::int64_t half = cutout_size_ / 2;
    const auto first = [&](std::uint64_t at, std::int64_t length) {
      return random.below(ordinal, at, static_cast<std::uint32_t>(length)) - half;
    };
    const std::int64_t row = first(lane, size.height), column = first(lane + 1, size.width);
    const std::int64_t top = std::max<std::int64_t>(row, 0);
    const std::int64_t bottom = std::min(row + cutout_size_, size.height);
    const std::int64_t left = std::max<std::int64_t>(column, 0);
    const std::int64_t right = std::min(column + cutout_size_, size.width);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = top; y < bottom; ++y) {
        std::fill_n(planes + (c * size.height + y) * size.width + left, right - left, 0.0F);
      }
    }
  }
}

}  // namespace crema
