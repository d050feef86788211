// Scores of a test net over several batches.
#pragma once

#include <cstdint>
#include <vector>

#include "net/net.h"
#include "solver/events.h"

namespace crema {

/// The net's outputs as they are after a forward pass, in Caffe's order.
std::vector<OutputValue> outputs_of(const Net& net);

/// Weighted means of outputs.
class ScoreSums {
 public:
  /// After a forward pass that gave `loss`. `weight`: 1, or the number of records where batches
  /// differ in size.
  void add(const Net& net, float loss, double weight);
  std::vector<OutputValue> mean() const;
  double mean_loss() const { return loss_ / weight_; }

 private:
  std::vector<OutputValue> outputs_;
  std::vector<std::vector<double>> sums_;
  double loss_ = 0, weight_ = 0;
};

/// The source that all data layers of a net read, when each record shall be read once.
struct WholeSource {
  std::int64_t records = 0;
  int batch = 0;
};
/// `who` asks for it ("--all"). An error where there is no data layer or several do not agree.
WholeSource whole_source(const Net& net, const std::string& who);

}  // namespace crema
