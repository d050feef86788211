#include "report/training_log.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>

#include "proto/weights.h"

namespace crema {
namespace {

/// A display tells of waiting for data when it cost more than so much of its time, and more than so
/// many seconds.
constexpr double kShareToTell = 0.1, kSecondsToTell = 0.1;

void log_outputs(const char* kind, const std::vector<OutputValue>& outputs) {
  int index = 0;
  for (const OutputValue& output : outputs) {
    for (const float value : output.values) {
      LOG(INFO) << fmt::format("    {} net output #{}: {}", kind, index++,
                               score_text(output.name, value, output.loss_weight));
    }
  }
}

}  // namespace

std::string score_text(const std::string& name, float value, float loss_weight) {
  std::string text = fmt::format("{} = {:g}", name, value);
  if (loss_weight != 0) {
    text += fmt::format(" (* {:g} = {:g} loss)", loss_weight, loss_weight * value);
  }
  return text;
}

TrainingLog::TrainingLog(int display, int first_iteration, int max_iter)
    : display_(display),
      first_iteration_(first_iteration),
      progress_("iterations", max_iter - first_iteration) {}

void TrainingLog::on_iteration(int iteration) { progress_.update(iteration - first_iteration_); }

void TrainingLog::on_display(const TrainingProgress& progress) {
  progress_.clear();
  if (progress.rate) {
    const double rate = progress.seconds > 0 ? progress.iterations / progress.seconds : 0;
    LOG(INFO) << fmt::format("Iteration {} ({:g} iter/s, {:g}s/{} iters), loss = {:g}",
                             progress.iteration, rate, progress.seconds, display_, progress.loss);
  } else {
    LOG(INFO) << fmt::format("Iteration {}, loss = {:g}", progress.iteration, progress.loss);
  }
  log_outputs("Train", progress.outputs);
  if (progress.seconds_waiting > std::max(kShareToTell * progress.seconds, kSecondsToTell)) {
    LOG(INFO) << fmt::format("    Waiting for data: {:.0f} % of the time",
                             100 * progress.seconds_waiting / progress.seconds);
  }
  if (progress.rate) {
    LOG(INFO) << fmt::format("Iteration {}, lr = {:g}", progress.iteration, *progress.rate);
  }
}

void TrainingLog::on_test_start(int iteration, int net) {
  progress_.clear();
  LOG(INFO) << fmt::format("Iteration {}, Testing net (#{})", iteration, net);
}

void TrainingLog::on_test(const TestScores& scores) {
  if (scores.loss) LOG(INFO) << fmt::format("Test loss: {:g}", *scores.loss);
  log_outputs("Test", scores.outputs);
}

void TrainingLog::on_snapshot(const std::string& weights_file, const std::string& state_file) {
  progress_.clear();
  const auto kind = [](const std::string& file) {
    return weight_format(file) == WeightFormat::kHdf5 ? "HDF5" : "binary proto";
  };
  LOG(INFO) << fmt::format("Snapshotting to {} file {}", kind(weights_file), weights_file);
  LOG(INFO) << fmt::format("Snapshotting solver state to {} file {}", kind(state_file), state_file);
}

}  // namespace crema
