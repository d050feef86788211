// The learning rate of an iteration: Caffe's policies, "plateau", a warm-up before them and a lower
// bound.
#pragma once

#include <limits>

#include "caffe.pb.h"

namespace crema {

/// What the policies remember from one iteration to the next; kept in solver states.
struct RateState {
  /// Steps taken by `step`, `multistep` and `plateau`.
  int current_step = 0;
  /// `plateau`: the least smoothed loss so far, and the iteration of it or of the last step.
  float minimum = std::numeric_limits<float>::infinity();
  int event = 0;
};

/// Checks lr_policy and the fields that it needs; user errors name the field.
void check_learning_rate(const caffe::SolverParameter& solver);

/// The rate at `iteration`, at which the shown loss is `loss`; to be asked once an iteration.
/// multistep advances by at most one step a call, as in Caffe.
float learning_rate(const caffe::SolverParameter& solver, int iteration, float loss,
                    RateState* state);

}  // namespace crema
