#include "report/stuck_loss.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace crema {
namespace {

constexpr int kDisplays = 3;

float floor_value() { return -std::log(std::numeric_limits<float>::min()); }

bool is_floor(float value) { return std::abs(value - floor_value()) < 1e-3f; }

}  // namespace

void StuckLoss::on_display(const TrainingProgress& progress) {
  warn_of_floor(progress);
  warn_of_standstill(progress);
}

void StuckLoss::warn_of_standstill(const TrainingProgress& progress) {
  const std::string loss = fmt::format("{:g}", progress.loss);
  if (loss != loss_) {
    same_loss_ = 0;
    since_ = progress.iteration;
  }
  loss_ = loss;
  // 0 is as good as it gets, and of what is no number others tell.
  if (++same_loss_ < kDisplays || told_ || progress.loss == 0 || !std::isfinite(progress.loss)) {
    return;
  }
  LOG(WARNING) << fmt::format(
      "Iteration {}: the loss has been {} in every display since iteration {}: the net does not "
      "learn. Perhaps the learning rate is 0 or too low, or the net has gone to pieces (a softmax "
      "loss counts {:.6g} for each record whose right class gets the probability 0): then begin "
      "again with a smaller base_lr or with warmup_iter, and check that the data is scaled "
      "(transform_param.scale).",
      progress.iteration, loss, since_, floor_value());
  told_ = true;
}

void StuckLoss::warn_of_floor(const TrainingProgress& progress) {
  for (const OutputValue& output : progress.outputs) {
    const bool stuck = output.loss_weight != 0 && !output.values.empty() &&
                       std::all_of(output.values.begin(), output.values.end(), is_floor);
    int& displays = displays_[output.name];
    displays = stuck ? displays + 1 : 0;
    if (displays < kDisplays || told_) continue;
    LOG(WARNING) << fmt::format(
        "Iteration {}: \"{}\" has been {:g} for {} displays. That is -log of the smallest float: "
        "the "
        "net gives the right class of every record the probability 0, and from there it hardly "
        "learns. Begin again with a smaller base_lr or with warmup_iter, and check that the data "
        "is "
        "scaled (transform_param.scale).",
        progress.iteration, output.name, output.values[0], displays);
    told_ = true;
  }
}

}  // namespace crema
