// Names of snapshot files, and which of them to go on from.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

struct SnapshotFiles {
  std::string weights, state;
};

/// PREFIX_iter_N.caffemodel and .solverstate, with .h5 appended for HDF5.
SnapshotFiles snapshot_files(const std::string& prefix, int iteration, WeightFormat format);
/// Likewise PREFIX_best.caffemodel and .solverstate.
SnapshotFiles best_snapshot_files(const std::string& prefix, WeightFormat format);
/// What a solver asks for.
WeightFormat snapshot_format(const caffe::SolverParameter& solver);

/// The states of this prefix, newest first. Whether one can be used shows when it is read.
std::vector<std::string> snapshots_of(const std::string& prefix);

/// Deletes this prefix's snapshots of iterations before `iteration`, all but the newest `keep` - 1
/// of them. What has another name, or no number as snapshot_files() writes it, stays.
void delete_old_snapshots(const std::string& prefix, int iteration, int keep);

/// What --snapshot asks for: a file, an iteration number, or `auto`, which is all of them, newest
/// first.
std::vector<std::string> resolve_snapshots(const std::string& request, const std::string& prefix);

/// Removes what a killed process left half-written under this prefix.
void remove_stale_temporaries(const std::string& prefix);

/// Logs why a snapshot is passed over for an older one.
void warn_passed_over(const Error& error);

/// The weights of the first of these states (at least one) that can be read whole and, unless it is
/// the last, hold no NaN or infinity; others are passed over with a warning.
StoredWeights first_usable_weights(const std::vector<std::string>& states);

/// Where the weights of a state are: the file that learned_net names beside the state (a snapshot
/// may have been moved), else learned_net itself.
std::string weights_of_state(const caffe::SolverState& state, const std::string& state_file);

}  // namespace crema
