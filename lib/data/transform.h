// transform_param: what happens to a picture between its source and the net.
//
//   out(c, y, x) = (in(c, y + top, x + left) - mean) * scale,  x counted from the right when
//   mirrored
//
// The mean is that of mean_file at the source position, or mean_value (one, or one a channel). With
// crop_size the part taken is the centre in the TEST phase and a random one in TRAIN; mirror flips
// every picture with probability 1/2 in both phases, as Caffe does. Randomness depends only on the
// seed, the layer's name and the ordinal of the record, never on threads or batch sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/image.h"

namespace crema {

class Transformer {
 public:
  /// Reads the mean file. Fails on contradictory parameters.
  Transformer(const caffe::TransformationParameter& param, caffe::Phase phase, std::uint64_t seed,
              const std::string& layer_name);

  /// C x H x W of what comes out for a picture of this shape. Fails, with both shapes, when it is
  /// smaller than the crop or does not fit the mean; the caller adds the record's name.
  Shape output_shape(const Shape& image) const;

  /// Whether what comes out has the same height and width for every picture that it takes.
  bool fixes_size() const { return crop_ > 0 || !mean_file_.empty(); }
  /// How encoded pictures are to be decoded (force_color, force_gray).
  Decode decoding() const { return decoding_; }

  /// How many pictures come out for one that goes in.
  int views() const { return 1; }

  /// Memory of one thread that transforms, reused from picture to picture.
  struct Workspace {};

  /// Writes the views of the `ordinal`-th record (counted from the beginning of the run), one
  /// behind the other, views() * output_shape(image.shape()).count() floats. `image` must have
  /// passed output_shape(). Any number of threads may do so at once, each with a workspace of its
  /// own.
  void transform(const ImageView& image, std::uint64_t ordinal, Workspace* workspace,
                 float* out) const;

 private:
  /// Which part of a picture is taken.
  struct Placement {
    std::int64_t top = 0, left = 0;
    bool mirror = false;
  };
  Placement place(const Shape& image, std::uint64_t ordinal) const;
  template <class Value>
  void transform(const Value* in, const ImageView& image, const Placement& placement,
                 float* out) const;

  std::int64_t crop_;
  bool mirror_, random_crop_;
  Decode decoding_;
  float scale_;
  std::string mean_file_;
  Shape mean_shape_;         ///< C x H x W
  std::vector<float> mean_;  ///< of mean_file, or empty
  std::vector<float> mean_values_;
  RandomStream random_;
};

}  // namespace crema
