// What SoftmaxWithLoss and InfogainLoss begin with: the probabilities of the classes and the class
// that each position's label names, both kept for backward.
#pragma once

#include <cstdint>
#include <optional>

#include "caffe.pb.h"
#include "layers/class_axis.h"
#include "layers/layer.h"
#include "layers/loss.h"

namespace crema {

/// Bottom 0: scores, bottom 1: labels; top 0: the loss, top 1, if there is one, the probabilities.
class SoftmaxLabelsOp : public Op {
 public:
  SoftmaxLabelsOp(const PlanRequest& request, const ClassAxis& axis,
                  const caffe::LossParameter& loss);

  std::vector<double> mean_over(int top) const final;

 protected:
  /// Computes what the others below give.
  void forward_labels(const RunContext& run);

  /// Probabilities, as outer x classes x inner of memory().
  const float* probabilities(const RunContext& run) const;
  /// A class for each position (outer x inner), Labels::kIgnored where it is ignored.
  const std::int32_t* classes(const RunContext& run) const;
  /// By what the loss is divided.
  double divisor() const { return normalizer(mode_, plain_.outer, plain_.inner, valid_); }
  /// The gradient of the loss divided by that. The top must have a gradient.
  float gradient_scale(const RunContext& run) const;
  const ClassAxis& memory() const { return memory_; }

 private:
  void* kept(const RunContext& run) const {
    return workspace_bytes_ > 0 ? run.workspace : run.scratch;
  }

  ClassAxis plain_, memory_;
  NormalizationMode mode_;
  std::optional<int> ignored_;
  std::int64_t probabilities_ = 0;  ///< kept here (and not in a top), the decoded labels after them
  std::int64_t valid_ = 0;          ///< labels of the last forward pass that were not ignored
};

/// What layers with such ops say alike; `axis` and its field's name.
Inference infer_softmax_labels(const Layer& layer, const std::vector<Shape>& bottoms, int axis,
                               const char* field);
std::vector<LayoutChoice> softmax_labels_layouts(const LayoutRequest& request, int axis,
                                                 const char* field);

}  // namespace crema
