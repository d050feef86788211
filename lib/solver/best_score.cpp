#include "solver/best_score.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "solver/solver_fields.h"

namespace crema {

BestScore::BestScore(const caffe::SolverParameter& solver, const Net* test_net)
    : output_(solver.snapshot_best()), patience_(solver.early_stop_tests()) {
  require_field(solver, "early_stop_tests", patience_ >= 0,
                "early_stop_tests is {}; it cannot be negative", patience_);
  require_field(
      solver, "early_stop_tests", patience_ == 0 || watches(),
      "early_stop_tests needs snapshot_best, the output of test net 0 that has to improve");
  require_field(solver, "snapshot_best_mode", !solver.has_snapshot_best_mode() || watches(),
                "snapshot_best_mode is given without snapshot_best");
  if (!watches()) return;
  require_field(solver, "snapshot_best", test_net != nullptr,
                "snapshot_best names an output of test net 0, but there is no test net");
  const std::vector<std::string>& outputs = test_net->outputs();
  require_field(solver, "snapshot_best",
                std::find(outputs.begin(), outputs.end(), output_) != outputs.end(),
                "test net 0 has no output \"{}\"{}{} Its outputs: {}", output_,
                did_you_mean(output_, outputs), did_you_mean(output_, outputs).empty() ? "." : "",
                fmt::join(outputs, ", "));
  const std::int64_t count = test_net->shape(output_).count();
  require_field(solver, "snapshot_best", count == 1,
                "output \"{}\" of test net 0 has {} values; only a single number can be the best",
                output_, count);
  lower_is_better_ = solver.has_snapshot_best_mode()
                         ? solver.snapshot_best_mode() == caffe::SolverParameter::MIN
                         : test_net->loss_weight(output_) != 0;
}

bool BestScore::note(int iteration, const std::vector<OutputValue>& scores) {
  if (!watches()) return false;
  float score = std::nanf("");
  for (const OutputValue& output : scores) {
    if (output.name == output_) score = output.values[0];
  }
  const bool better = lower_is_better_ ? score < score_ : score > score_;
  if (std::isnan(score) || (known_ && !better)) {
    ++tests_since_;
    return false;
  }
  known_ = true;
  score_ = score;
  iteration_ = iteration;
  tests_since_ = 0;
  return true;
}

std::string BestScore::describe() const {
  return known_ ? fmt::format("{} = {:g} at iteration {}", output_, score_, iteration_)
                : fmt::format("no value of {} that is a number", output_);
}

void BestScore::store(caffe::CremaTrainingState* state) const {
  if (!watches()) return;
  state->set_tests_since_best(tests_since_);
  if (!known_) return;
  state->set_best_score(score_);
  state->set_best_iteration(iteration_);
}

void BestScore::restore(const caffe::CremaTrainingState& state) {
  known_ = state.has_best_score();
  score_ = state.best_score();
  iteration_ = state.best_iteration();
  tests_since_ = state.tests_since_best();
}

}  // namespace crema
