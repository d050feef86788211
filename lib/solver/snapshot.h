// Names of snapshot files, and which of them to go on from.
#pragma once

#include <string>

#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

struct SnapshotFiles {
  std::string weights, state;
};

/// PREFIX_iter_N.caffemodel and .solverstate, with .h5 appended for HDF5.
SnapshotFiles snapshot_files(const std::string& prefix, int iteration, WeightFormat format);

/// The state of the newest snapshot of this prefix that can be read whole, weights included; ""
/// when there is none. Broken ones are passed over with a warning.
std::string newest_snapshot(const std::string& prefix);

/// What --snapshot asks for: a file, an iteration number, or `auto`. "" when `auto` finds none.
std::string resolve_snapshot(const std::string& request, const std::string& prefix);

/// Where the weights of a state are: learned_net, else the file of that name beside the state.
std::string weights_of_state(const caffe::SolverState& state, const std::string& state_file);

}  // namespace crema
