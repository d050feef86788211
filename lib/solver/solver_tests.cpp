// A solver's test nets: when they run, their scores, and what follows from these.
#include <glog/logging.h>

#include <boost/filesystem.hpp>

#include "base/error.h"
#include "solver/epochs.h"
#include "solver/score_sums.h"
#include "solver/solver.h"
#include "solver/whole_source.h"

namespace crema {

bool Solver::test_due() const {
  return test_interval_ > 0 && passes_mark(iteration_, test_interval_);
}

bool Solver::run_tests(const caffe::CremaTrainingState& before) {
  bool go_on = true;
  for (int i = 0; i < test_nets() && go_on; ++i) go_on = test(i, before);
  if (go_on && best_score_.gave_up()) {
    LOG(INFO) << fmt::format(
        "Iteration {}, early stop: no better score in the last {} tests; the best was {}",
        iteration_, param_.early_stop_tests(), best_score_.describe());
    stopped_early_ = true;
    go_on = false;
  }
  if (!go_on) restore_training_state(before);
  return go_on;
}

bool Solver::stop_asked() {
  const SignalAction action = poll();
  snapshot_requested_ |= action == SignalAction::kSnapshot;
  stop_requested_ |= action == SignalAction::kStop;
  return stop_requested_;
}

ScoreSums Solver::score(int index) {
  Net& net = test_net(index);
  ScoreSums sums;
  if (const std::string who = tests_whole_sources(param_); !who.empty()) {
    for (WholePass pass(net, who); pass.next() && !stop_asked();) {
      sums.add_records(net, net.forward(), pass.counted());
    }
    return sums;
  }
  for (int i = 0; i < param_.test_iter(index) && !stop_asked(); ++i) {
    sums.add_batch(net, net.forward());
  }
  return sums;
}

bool Solver::test(int index, const caffe::CremaTrainingState& before) {
  for (TrainingListener* listener : options_.listeners) listener->on_test_start(iteration_, index);
  const ScoreSums sums = score(index);
  if (stop_requested_) return false;
  TestScores scores;
  scores.iteration = iteration_;
  scores.net = index;
  if (param_.test_compute_loss()) scores.loss = static_cast<float>(sums.mean_loss());
  scores.outputs = sums.mean();
  for (TrainingListener* listener : options_.listeners) listener->on_test(scores);
  if (index == 0) note_score(scores, before);
  return true;
}

void Solver::note_score(const TestScores& scores, const caffe::CremaTrainingState& before) {
  if (!best_score_.note(iteration_, scores.outputs)) return;
  LOG(INFO) << "The best so far: " << best_score_.describe();
  const SnapshotFiles files =
      best_snapshot_files(param_.snapshot_prefix(), snapshot_format(param_));
  // Between two files there must not be a state of one iteration with weights of another.
  boost::filesystem::remove(files.state);
  // Whoever goes on from it does this test again.
  write_snapshot(files, before);
}

}  // namespace crema
