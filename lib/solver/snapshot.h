// Names of snapshot files, and which of them to go on from.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

struct SnapshotFiles {
  std::string weights, state;
};

/// PREFIX_iter_N.caffemodel and .solverstate, with .h5 appended for HDF5.
SnapshotFiles snapshot_files(const std::string& prefix, int iteration, WeightFormat format);

/// The states of this prefix that can be read whole, weights included, newest first. Broken ones
/// are passed over with a warning.
std::vector<std::string> good_snapshots(const std::string& prefix);

/// What --snapshot asks for: a file, an iteration number, or `auto`, which is all good ones, newest
/// first.
std::vector<std::string> resolve_snapshots(const std::string& request, const std::string& prefix);

/// Removes what a killed process left half-written under this prefix.
void remove_stale_temporaries(const std::string& prefix);

/// Where the weights of a state are: the file that learned_net names beside the state (a snapshot
/// may have been moved), else learned_net itself.
std::string weights_of_state(const caffe::SolverState& state, const std::string& state_file);

}  // namespace crema
