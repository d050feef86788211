// The best score of one output of test net 0: which snapshot to keep, and when to stop.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "net/net.h"
#include "solver/events.h"

namespace crema {

class BestScore {
 public:
  /// Nothing is watched.
  BestScore() = default;
  /// Watches the solver's snapshot_best, if given; user errors where it fits no output of
  /// `test_net` (null: there is none).
  BestScore(const caffe::SolverParameter& solver, const Net* test_net);

  bool watches() const { return !output_.empty(); }
  /// Scores of test net 0 after `iteration` updates; true if they are the best so far. NaN never
  /// is.
  bool note(int iteration, const std::vector<OutputValue>& scores);
  /// The last early_stop_tests tests were no better than one before them.
  bool gave_up() const { return patience_ > 0 && tests_since_ >= patience_; }
  /// `accuracy = 0.93 at iteration 500`.
  std::string describe() const;

  void store(caffe::CremaTrainingState* state) const;
  void restore(const caffe::CremaTrainingState& state);

 private:
  std::string output_;
  bool lower_is_better_ = false;
  int patience_ = 0;
  bool known_ = false;
  float score_ = 0;
  int iteration_ = 0;
  int tests_since_ = 0;
};

}  // namespace crema
