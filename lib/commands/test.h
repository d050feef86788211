// The `test` tool without its flags: scores of a trained net.
#pragma once

#include <string>
#include <vector>

#include "commands/device_choice.h"
#include "net/net.h"
#include "proto/fork_fields.h"
#include "solver/events.h"

namespace crema {

struct TestOptions {
  // Either a net and weights …
  std::string model;
  std::string weights;
  // … or a solver, whose first test net is meant, and a snapshot of it: an iteration, `auto` or a
  // file.
  std::string solver;
  std::string snapshot;
  /// Batches; 0: the solver's test_iter, else 50.
  int iterations = 0;
  /// Every record of the source exactly once, scores weighted by records.
  bool all = false;
  DeviceChoice device;
  int level = 0;
  std::string stages;
  Dialect dialect = Dialect::kDetect;
  ReaderOptions reading;
};

/// Tests and logs in Caffe's lines.
int test(const TestOptions& options);

/// Mean outputs of a net over `iterations` batches, or over each record once.
struct Scores {
  std::vector<OutputValue> outputs;
  double loss = 0;
  std::int64_t records = 0;  ///< 0 when the net has no data layer
};
Scores score_batches(Net& net, int iterations);
Scores score_all_records(Net& net);

}  // namespace crema
