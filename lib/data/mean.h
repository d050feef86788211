// Mean images: what transform_param.mean_file names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/database.h"
#include "tensor/shape.h"

namespace crema {

struct MeanImage {
  Shape shape;  ///< C x H x W
  std::vector<float> values;

  /// One mean a channel.
  std::vector<double> channel_means() const;
};

/// Errors name the file.
MeanImage read_mean(const std::string& path);

/// A BlobProto with legacy dimensions 1 x C x H x W, as Caffe writes it.
void write_mean(const MeanImage& mean, const std::string& path);

/// The mean of all records, which must have one size; summed in double precision. `progress`, if
/// given, is told how many are done.
MeanImage compute_mean(DatabaseReader* records,
                       const std::function<void(std::int64_t)>& progress = {});

}  // namespace crema
