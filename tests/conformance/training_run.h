// A training run as the tool `caffe train` would do it, and what it displayed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report.h"
#include "solver/events.h"
#include "tensor/device.h"

namespace crema::conformance {

/// Flags of `caffe train`, without dashes: "solver", "weights", "snapshot", "level", "stage".
using TrainFlags = std::map<std::string, std::string>;
/// From `train -solver FILE …`.
TrainFlags parse_train_flags(const std::vector<std::string>& arguments);

struct TrainingRecord {
  std::vector<TrainingProgress> displays;
  std::vector<TestScores> tests;
};

/// Trains to the end in the working directory.
TrainingRecord train(const TrainFlags& flags, Device& device);

/// Numbers in tables have this many digits.
constexpr double kPrinted = 1e-5;

/// test_scores.csv: the iterations, nets and names, and the values as `tolerance` says by name.
void compare_test_scores(const TrainingRecord& record, const std::string& csv,
                         const std::map<std::string, double>& tolerance, double default_tolerance,
                         Report* report);

}  // namespace crema::conformance
