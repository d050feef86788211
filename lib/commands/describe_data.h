// The `describe-data` tool without its flags.
#pragma once

#include <optional>
#include <string>

#include "caffe.pb.h"
#include "data/record_stream.h"
#include "proto/fork_fields.h"

namespace crema {

struct DescribeDataOptions {
  std::string source;
  RecordStreamOptions reading;
  std::int64_t sample = -1;  ///< pictures to look at; -1: all
  int threads = 1;
  std::string model;  ///< "": no net
  /// Without: the phases in which the net names the source, else TRAIN.
  std::optional<caffe::Phase> phase;
  int level = 0;
  std::string stages;
  Dialect dialect = Dialect::kDetect;
};

/// Reads the whole source and prints to standard output what it holds, what is odd or broken,
/// whether it fits the net, and the lines of a prototxt that read it. Returns 0, or 1 when
/// something is broken or does not fit. Fails when there is no source at all.
int describe_data(const DescribeDataOptions& options);

}  // namespace crema
