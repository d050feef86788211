// Caffe's learning-rate policies.
#pragma once

#include "caffe.pb.h"

namespace crema {

/// Checks lr_policy and the fields that it needs; user errors name the field.
void check_learning_rate(const caffe::SolverParameter& solver);

/// The rate at `iteration`. `current_step` is the state of `step` and `multistep`; multistep
/// advances it by at most one a call, as Caffe does, so it is saved in solver states.
float learning_rate(const caffe::SolverParameter& solver, int iteration, int* current_step);

}  // namespace crema
