#include "report/stuck_loss.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace crema {
namespace {

constexpr int kDisplays = 3;

bool is_floor(float value) {
  static const float kFloor = -std::log(std::numeric_limits<float>::min());
  return std::abs(value - kFloor) < 1e-3f;
}

}  // namespace

void StuckLoss::on_display(const TrainingProgress& progress) {
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
