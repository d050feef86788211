// How layers with values by channel (Scale, Bias, BatchNorm, PReLU) see their bottom.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/channel_axis.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {

/// N x C x rest, in the layout that the bottom has.
inline ChannelAxis channels_of(const Shape& bottom, const Layout& layout) {
  const ChannelAxis axis{bottom[0], bottom[1], bottom.count_from(2)};
  return is_channels_last(layout) ? ChannelAxis{axis.outer * axis.inner, axis.channels, 1} : axis;
}

/// The array of a Scale or Bias layer: it spans some axes of the bottom and is the same along those
/// before and after.
struct SpannedAxes {
  Shape array;
  int axis = 0;

  /// A learned array over `num_axes` axes from `axis` on (-1: all of them, 0: one value, then
  /// `axis` is not looked at). `message` is the layer's, for errors.
  static SpannedAxes learned(const Shape& bottom, int axis, int num_axes,
                             const std::string& message) {
    require(num_axes >= -1, "{}.num_axes is {}; it must be -1 (all axes from axis on) or more",
            message, num_axes);
    if (num_axes == 0) return {};
    SpannedAxes spanned;
    spanned.axis = axis_of(bottom, axis, (message + ".axis").c_str());
    const int end = num_axes < 0 ? bottom.axes() : spanned.axis + num_axes;
    require(end <= bottom.axes(),
            "{}.num_axes {} from axis {} on reaches past the last axis of the bottom ({})", message,
            num_axes, spanned.axis, bottom.str());
    spanned.array = Shape(bottom.dims().subspan(static_cast<std::size_t>(spanned.axis),
                                                static_cast<std::size_t>(end - spanned.axis)));
    return spanned;
  }

  /// The second bottom is the array.
  static SpannedAxes given(const Shape& bottom, const Shape& array, int axis,
                           const std::string& message) {
    if (array.axes() == 0) return {};
    SpannedAxes spanned{array, axis_of(bottom, axis, (message + ".axis").c_str())};
    bool fits = spanned.axis + array.axes() <= bottom.axes();
    for (int i = 0; fits && i < array.axes(); ++i) {
      fits = bottom[spanned.axis + i] == array[i];
    }
    require(fits, "bottom 1 ({}) must have the sizes of bottom 0 ({}) from axis {} on", array.str(),
            bottom.str(), spanned.axis);
    return spanned;
  }

  /// One value a channel of a blob N x C x spatial, or one value at all: channels last is as good.
  bool any_order() const { return array.axes() == 0 || (axis == 1 && array.axes() == 1); }

  ChannelAxis in(const Shape& bottom, const Layout& layout) const {
    if (array.axes() == 0) return {1, 1, bottom.count()};
    if (is_channels_last(layout)) return channels_of(bottom, layout);
    return {bottom.count(0, axis), array.count(), bottom.count_from(axis + array.axes())};
  }

  /// Bottom 0 and top 0 plain or channels last, all else plain.
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const {
    std::vector<LayoutChoice> choices = {plain_choice(request)};
    const Layout last = channels_last(request.bottoms[0]);
    if (any_order() && !last.is_plain()) {
      choices.push_back(choices[0]);
      choices[1].bottoms[0] = choices[1].tops[0] = last;
    }
    return choices;
  }
};

/// `filler`, or the constant that Caffe takes where none is given.
inline caffe::FillerParameter filler_or(bool given, const caffe::FillerParameter& filler,
                                        float constant) {
  if (given) return filler;
  caffe::FillerParameter result;
  result.set_type("constant");
  result.set_value(constant);
  return result;
}

}  // namespace crema
