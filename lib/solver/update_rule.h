// How a parameter moves along its gradient. One sweep over memory does all: scaling of the gradient
// (clipping, iter_size), weight decay, the rule, the step. It runs in the parameter's own layout;
// padding is zero and stays zero.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "tensor/tensor.h"

namespace crema {

/// What is the same for all elements of one parameter in one iteration.
struct UpdateStep {
  float gradient_scale = 1;  ///< g = gradient * gradient_scale + decay
  float l1 = 0, l2 = 0;      ///< decay: l2 * w + l1 * sign(w)
  float rate = 0;            ///< learning rate * lr_mult
  int iteration = 0;
  /// Leave the step itself in the gradient's place (snapshot_diff stores it).
  bool keep_step = false;
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// History tensors a parameter: 1 or 2.
  virtual int histories() const = 0;
  /// data -= step. `history` are of the same shape and layout, zero at first.
  virtual void apply(const UpdateStep& step, const Tensor& gradient,
                     const std::vector<Tensor>& history, const Tensor& data) const = 0;
};

/// By SolverParameter.type; user errors for unknown types (nearest name) and fields that do not fit
/// the type.
std::unique_ptr<UpdateRule> make_update_rule(const caffe::SolverParameter& solver);

}  // namespace crema
