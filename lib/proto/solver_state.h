// Solver states (.solverstate, .solverstate.h5).
#pragma once

#include <string>

#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

/// Reads a state: HDF5 by its signature, else binary. Other kinds of file are refused by name.
caffe::SolverState read_solver_state(const std::string& path);

/// Wholly or not at all. HDF5 keeps crema_training as a data set of bytes that Caffe does not look
/// at.
void write_solver_state(const caffe::SolverState& state, const std::string& path,
                        WeightFormat format);

}  // namespace crema
