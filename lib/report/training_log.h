// Training as log lines in Caffe's words, which users' scripts and DIGITS parse; and a progress
// line on terminals.
#pragma once

#include "base/progress.h"
#include "solver/events.h"

namespace crema {

class TrainingLog final : public TrainingListener {
 public:
  /// `display`: iterations between two displays, as the line states it.
  TrainingLog(int display, int first_iteration, int max_iter);

  void on_iteration(int iteration) override;
  void on_display(const TrainingProgress& progress) override;
  void on_test_start(int iteration, int net) override;
  void on_test(const TestScores& scores) override;
  void on_snapshot(const std::string& weights_file, const std::string& state_file) override;

 private:
  int display_, first_iteration_;
  Progress progress_;
};

/// `accuracy = 0.9`, or `loss = 0.5 (* 1 = 0.5 loss)` with a loss weight; 6 significant digits.
std::string score_text(const std::string& name, float value, float loss_weight);

}  // namespace crema
