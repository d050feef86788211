// Mean images: what transform_param.mean_file names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/record_blocks.h"
#include "data/record_stream.h"
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

struct MeanOptions {
  int threads = 1;
  bool skip_bad_records = false;  ///< leave out what cannot be read
  /// Told how many records are done.
  std::function<void(std::int64_t)> progress{};
};

struct ComputedMean {
  MeanImage mean;
  std::int64_t records = 0;           ///< that the mean is of
  std::vector<BrokenRecord> skipped;  ///< those left out, each with what is wrong with it
};

/// The mean of all records of a stream, from its beginning. They must have one size and finite
/// values. Summed in double precision; the same for any number of threads.
ComputedMean compute_mean(RecordStream* records, const MeanOptions& options = {});

}  // namespace crema
