// Snapshots of a run against those that Caffe wrote.
#pragma once

#include <string>

#include "report.h"

namespace crema::conformance {

/// Layers, their blobs and, where expected, their gradients.
void compare_weight_files(const std::string& file, const std::string& expected, double tolerance,
                          Report* report);
/// Iteration, learned_net, current_step, history.
void compare_solver_states(const std::string& file, const std::string& expected, double tolerance,
                           Report* report);

}  // namespace crema::conformance
