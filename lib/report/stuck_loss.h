// Explains the number 87.3365, which Caffe's users have been asking about for years.
#pragma once

#include <map>
#include <string>

#include "solver/events.h"

namespace crema {

/// A softmax loss takes the logarithm of no probability below the smallest float, so a net that has
/// gone to pieces shows -log(FLT_MIN) from then on. Warns once, when an output shows it for the
/// third display in a row.
class StuckLoss final : public TrainingListener {
 public:
  void on_display(const TrainingProgress& progress) override;

 private:
  std::map<std::string, int> displays_;  // in a row, by output
  bool told_ = false;
};

}  // namespace crema
