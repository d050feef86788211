// What transform_param changes at random in the TRAIN phase beyond Caffe's crop and mirror:
// turning, scale and proportions, colours, squares cut out.
//
// Every change is drawn by the record's ordinal from lanes of the layer's stream that nothing else
// uses, so that switching on one does not alter another, nor the crop.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/image.h"
#include "data/views.h"
#include "data/warp.h"

namespace crema {

class Augmentation {
 public:
  /// Changes nothing.
  Augmentation() = default;
  /// Values out of range are user errors that name the field.
  explicit Augmentation(const caffe::TransformationParameter& param);

  bool warps() const { return rotation_ > 0 || min_scale_ != 1 || max_scale_ != 1 || aspect_ > 1; }
  bool recolors() const { return brightness_ > 0 || contrast_ > 0 || mixes_channels(); }
  /// Saturation and hue: of pictures of 3 channels only.
  bool mixes_channels() const { return saturation_ > 0 || hue_ > 0; }
  bool cuts_out() const { return cutout_size_ > 0; }
  std::int64_t cutout_size() const { return cutout_size_; }

  /// Where the pixels of a part (place and size of `view`, not mirrored) come from in a picture of
  /// size `from`, which `view.frame` is resized from. The part is stretched by a factor a (width by
  /// the root of a, height by its inverse), enlarged and turned clockwise about its middle; the
  /// logarithms of both factors are evenly distributed.
  LinearMap map(const RandomStream& random, std::uint64_t ordinal, const View& view,
                PictureSize from) const;

  /// Changes colours of planes in B, G, R order (or any other number, if only brightness and
  /// contrast are at work): brightness b, contrast c, saturation s, hue, in this order, with
  ///   b: v <- b v;  c: v <- c v + (1 - c) m, m the mean grey of all pixels;
  ///   s: v <- s v + (1 - s) g, g the pixel's grey;
  ///   hue: turned about the axis of greys; by a third of the circle red becomes green.
  /// Grey is 0.299 R + 0.587 G + 0.114 B, or the mean over channels if they are not three. In the
  /// end values of byte pictures are held to 0 … 255.
  void recolor(const RandomStream& random, std::uint64_t ordinal, std::int64_t channels,
               std::int64_t pixels, bool bytes, float* planes) const;

  /// Makes squares 0. Their middles are evenly distributed over the picture; what lies outside of
  /// it is cut off.
  void cut_out(const RandomStream& random, std::uint64_t ordinal, std::int64_t channels,
               PictureSize size, float* planes) const;

 private:
  double rotation_ = 0, min_scale_ = 1, max_scale_ = 1, aspect_ = 1;
  double brightness_ = 0, contrast_ = 0, saturation_ = 0, hue_ = 0;
  std::int64_t cutout_size_ = 0, cutout_count_ = 0;
};

}  // namespace crema
