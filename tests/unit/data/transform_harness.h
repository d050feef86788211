// What the tests of the transformation share.
#pragma once

#include <string>
#include <vector>

#include "data/datum.h"
#include "data/transform.h"
#include "fixtures.h"

namespace crema::testing {

/// All views of a picture.
inline std::vector<float> run(const Transformer& transformer, const ImageView& image,
                              std::uint64_t ordinal = 0,
                              Transformer::Workspace* workspace = nullptr) {
  const std::int64_t count = transformer.views() * transformer.output_shape(image.shape()).count();
  std::vector<float> out(static_cast<std::size_t>(count), -12345.0F);
  Transformer::Workspace own;
  transformer.transform(image, ordinal, workspace ? workspace : &own, out.data());
  return out;
}

inline std::vector<float> run(const Transformer& transformer, const caffe::Datum& datum,
                              std::uint64_t ordinal = 0) {
  return run(transformer, image_of(datum), ordinal);
}

inline Transformer make(const caffe::TransformationParameter& param,
                        caffe::Phase phase = caffe::TEST, std::uint64_t seed = 1) {
  return {param, phase, seed, "data"};
}

/// Value i of the mean is i / 2.
inline void write_mean(const std::string& path, const std::vector<int>& legacy_shape) {
  caffe::BlobProto mean;
  mean.set_num(legacy_shape[0]);
  mean.set_channels(legacy_shape[1]);
  mean.set_height(legacy_shape[2]);
  mean.set_width(legacy_shape[3]);
  const int count = legacy_shape[0] * legacy_shape[1] * legacy_shape[2] * legacy_shape[3];
  for (int i = 0; i < count; ++i) mean.add_data(0.5f * static_cast<float>(i));
  write_file(path, mean.SerializeAsString());
}

}  // namespace crema::testing
