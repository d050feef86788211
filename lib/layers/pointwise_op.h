// The op of every pointwise layer: one bottom, one top, no parameter.
#pragma once

#include <string>

#include "kernels/pointwise.h"
#include "layers/op.h"

namespace crema {

template <class F>
class PointwiseOp final : public Op {
 public:
  /// `name` as in CREMA_POINTWISE(name, F).
  explicit PointwiseOp(const std::string& name, F f = {})
      : forward_(name + ".forward"), backward_(name + ".backward"), f_(f) {}

  void forward(const RunContext& run) override {
    run_loop(run.device, forward_.c_str(), &pointwise_forward<Cpu, F, float>, f_,
             run.tops[0].elements(), run.bottoms[0].read(), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& bottom_gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      bottom_gradient.fill_zero();
      return;
    }
    run_loop(run.device, backward_.c_str(), &pointwise_backward<Cpu, F, float>, f_,
             bottom_gradient.elements(), F::kReadsBottom ? run.bottoms[0].read() : nullptr,
             F::kReadsTop ? run.tops[0].read() : nullptr, run.top_gradients[0].read(),
             bottom_gradient.write());
  }

 private:
  std::string forward_, backward_;
  F f_;
};

}  // namespace crema
