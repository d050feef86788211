// What happens during training, for whoever wants to log, draw or test it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace crema {

/// A net output: all its elements, and its weight in the loss (0 for most).
struct OutputValue {
  std::string name;
  std::vector<float> values;
  float loss_weight = 0;
};

struct TrainingProgress {
  int iteration = 0;
  /// Mean of the last average_loss iterations.
  float loss = 0;
  /// Absent in the display after the last iteration.
  std::optional<float> rate;
  std::vector<OutputValue> outputs;
  /// Since the last display (or the start).
  int iterations = 0;
  double seconds = 0;
  /// Part of `seconds` in which the net waited for its data.
  double seconds_waiting = 0;
};

struct TestScores {
  int iteration = 0;
  int net = 0;
  std::optional<float> loss;  ///< with test_compute_loss
  std::vector<OutputValue> outputs;
};

class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  virtual void on_iteration(int /*iteration*/) {}
  virtual void on_display(const TrainingProgress&) {}
  virtual void on_test_start(int /*iteration*/, int /*net*/) {}
  virtual void on_test(const TestScores&) {}
  virtual void on_snapshot(const std::string& /*weights_file*/, const std::string& /*state_file*/) {
  }
};

}  // namespace crema
