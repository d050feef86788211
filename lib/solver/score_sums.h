// Scores of a test net over several batches.
#pragma once

#include <vector>

#include "net/net.h"
#include "solver/events.h"

namespace crema {

/// The net's outputs as they are after a forward pass, in Caffe's order.
std::vector<OutputValue> outputs_of(const Net& net);

/// Means of outputs over batches.
class ScoreSums {
 public:
  /// After a forward pass that gave `loss`: every batch counts the same, as in Caffe.
  void add_batch(const Net& net, float loss);
  /// … or what a single batch of all records would give: an output that is the mean of labels that
  /// are not ignored, or of a class's items, counts by their number (Net::mean_over), others by the
  /// `records` of the batch.
  void add_records(const Net& net, float loss, double records);

  /// 0 where nothing counted.
  std::vector<OutputValue> mean() const;
  double mean_loss() const;

 private:
  /// Behind one output, for each of its values.
  struct Sum {
    std::vector<double> values, weights;
    bool counted = false;  ///< weights are not those of the batches
  };
  /// `over`: by output, Net::mean_over.
  void add(std::vector<OutputValue> outputs, const std::vector<std::vector<double>>& over,
           double loss, double weight);

  std::vector<OutputValue> outputs_;  ///< of the last batch
  std::vector<Sum> sums_;
  double loss_ = 0;  ///< without the share of outputs that are counted
  double weight_ = 0;
};

}  // namespace crema
