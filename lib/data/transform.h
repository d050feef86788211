// transform_param: what happens to a picture between its source and the net. docs/transformation.md
// tells it to users.
//
//   out(c, y, x) = (in(c, y + top, x + left) - mean) * scale,  x counted from the right when
//   mirrored
//
// `in` is the picture, resized if the parameters say so. The mean is that of mean_file, which has
// the size of `in`, at the same place, or mean_value (one, or one a channel). With a crop the part
// taken is the centre in the TEST phase and a random one in TRAIN; mirror flips every picture with
// probability 1/2 in both phases, as Caffe does. In TRAIN the part may be turned and stretched, its
// colours changed and squares cut out (augmentation.h); a mean image is turned and stretched along.
// Where views are set, they are taken, and nothing is random.
//
// Randomness depends only on the seed, the layer's name and the ordinal of the record, never on
// threads or batch sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/augmentation.h"
#include "data/image.h"
#include "data/part.h"
#include "data/views.h"
#include "data/warp.h"

namespace crema {

class Transformer {
 public:
  /// Reads the mean file. Fails on contradictory parameters and on values out of range.
  Transformer(const caffe::TransformationParameter& param, caffe::Phase phase, std::uint64_t seed,
              const std::string& layer_name);

  /// From now on every picture gives these views, the same ones in both phases: nothing is cut out,
  /// mirrored or changed at random any more. Fails when a crop is needed for them that
  /// transform_param does not have.
  void set_views(const Views& views);
  /// How many pictures come out for one that goes in.
  int views() const { return views_ ? static_cast<int>(views_->count()) : 1; }
  /// Which parts they are, in their order, for a picture that output_shape() takes. Without
  /// set_views() the one of the TEST phase.
  std::vector<View> view_list(const Shape& image) const;

  /// C x H x W of what comes out for a picture of this shape. Fails, with both shapes, when it is
  /// smaller than the crop or does not fit the mean; the caller adds the record's name.
  Shape output_shape(const Shape& image) const;

  /// Whether what comes out has the same height and width for every picture that it takes.
  bool fixes_size() const { return crop_.height > 0 || resize_.height > 0 || !mean_file_.empty(); }
  /// How encoded pictures are to be decoded (force_color, force_gray).
  Decode decoding() const { return decoding_; }

  /// Memory of one thread that transforms, reused from picture to picture.
  struct Workspace {
    Image resized;
    std::vector<float> resized_floats, values, mean;
    WarpScratch warp;
  };

  /// Writes the views of the `ordinal`-th record (counted from the beginning of the run), one
  /// behind the other, views() * output_shape(image.shape()).count() floats. `image` must have
  /// passed output_shape(). Any number of threads may do so at once, each with a workspace of its
  /// own.
  void transform(const ImageView& image, std::uint64_t ordinal, Workspace* workspace,
                 float* out) const;

 private:
  std::size_t scale_count() const;
  /// Sizes of the whole picture: as transform_param resizes it, then for one of the views' scales.
  PictureSize base_of(PictureSize image) const;
  PictureSize frame_of(PictureSize base, std::size_t scale) const;
  /// Of what is cut out of it.
  PictureSize cut_of(PictureSize frame) const { return crop_.height > 0 ? crop_ : frame; }
  View place(PictureSize frame, std::uint64_t ordinal) const;
  /// Writes one view.
  void take(const ImageView& frame, const View& view, std::size_t scale, float* out) const;
  /// The same of a picture that is not resized yet, warped and with other colours.
  void take_changed(const ImageView& image, const View& view, std::uint64_t ordinal,
                    Workspace* workspace, float* out) const;

  PictureSize crop_, resize_;  ///< 0: none
  std::int64_t short_side_;    ///< 0: none
  bool square_;                ///< the crop came as crop_size
  bool mirror_, random_crop_;
  Decode decoding_;
  Normalization normalization_;
  std::string mean_file_;
  Shape mean_shape_;                       ///< C x H x W
  std::vector<std::vector<float>> means_;  ///< of mean_file, one for each scale, or none
  Augmentation augmentation_;
  std::optional<Views> views_;
  RandomStream random_;
};

}  // namespace crema
