// Explains the number 87.3365, which Caffe's users have been asking about for years.
#pragma once

#include <map>
#include <string>

#include "solver/events.h"

namespace crema {

/// A softmax loss takes the logarithm of no probability below the smallest float, so a net that has
/// gone to pieces shows -log(FLT_MIN) from then on. Warns once, when an output shows it for the
/// third display in a row. Likewise of a loss that is the same for as long, as it is when only some
/// records of each batch are beyond learning.
class StuckLoss final : public TrainingListener {
 public:
  void on_display(const TrainingProgress& progress) override;

 private:
  void warn_of_floor(const TrainingProgress& progress);
  void warn_of_standstill(const TrainingProgress& progress);

  std::map<std::string, int> displays_;  // in a row, by output
  std::string loss_;                     // of the last display, to 6 digits
  int same_loss_ = 0, since_ = 0;        // displays in a row with it, and the first's iteration
  bool told_ = false;
};

}  // namespace crema
