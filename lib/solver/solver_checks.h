// What can be wrong with a solver before there is a net.
#pragma once

#include "caffe.pb.h"

namespace crema {

/// Will it write snapshots? `signals`: a signal may ask for one whatever the solver says.
bool takes_snapshots(const caffe::SolverParameter& solver, bool signals);

/// User errors with the field's line. What needs the nets is checked where they are used.
void check_solver(const caffe::SolverParameter& solver, bool signals);

}  // namespace crema
