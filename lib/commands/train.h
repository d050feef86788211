// The `train` tool without its flags.
#pragma once

#include <string>

#include "commands/device_choice.h"
#include "data/reader_options.h"
#include "proto/fork_fields.h"

namespace crema {

struct TrainOptions {
  std::string solver;
  std::string weights;   ///< files separated by commas, or ""
  std::string snapshot;  ///< a state file, an iteration, `auto`, or ""
  DeviceChoice device;
  int level = 0;
  std::string stages;  ///< separated by commas
  /// A NaN or an infinity in training is a warning.
  bool keep_going = false;
  std::string sigint_effect = "stop";
  std::string sighup_effect = "snapshot";
  Dialect dialect = Dialect::kDetect;
  ReaderOptions reading;
};

/// Trains; 0 when done or stopped by a signal with its state saved.
int train(const TrainOptions& options);

}  // namespace crema
