// The `extract-features` tool without its flags: blobs of a net into data bases.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "commands/device_choice.h"
#include "data/reader_options.h"
#include "proto/fork_fields.h"

namespace crema {

struct ExtractFeaturesOptions {
  std::string weights;  ///< files separated by commas
  std::string model;
  std::vector<std::string> blobs;
  std::vector<std::string> databases;  ///< one for each blob
  /// Batches to run; 0: every record of the net's source exactly once.
  int batches = 0;
  caffe::DataParameter::DB backend = caffe::DataParameter::LMDB;
  DeviceChoice device;
  int level = 0;
  std::string stages;
  Dialect dialect = Dialect::kDetect;
  ReaderOptions reading;
};

/// Runs the net in the TEST phase. Item number i of a blob becomes record `%010d` of its data base:
/// a Datum whose float_data are the item's values. The data bases appear when all is done.
int extract_features(const ExtractFeaturesOptions& options);

}  // namespace crema
