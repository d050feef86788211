// Every pointwise layer: one bottom, one top of its shape, no parameter. A value functor
// (kernels/pointwise.h) says all that tells one from another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/pointwise.h"
#include "layers/fields.h"
#include "layers/layer.h"

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

template <class F>
class PointwiseLayer final : public Layer {
 public:
  /// `name` as in CREMA_POINTWISE(name, F).
  PointwiseLayer(const caffe::LayerParameter& definition, std::string name, F f = {})
      : Layer(definition), name_(std::move(name)), f_(f) {}

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  // Elements that pad a packed layout must stay zero.
  bool any_layout() const override { return F::kZeroAtZero; }
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<PointwiseOp<F>>(name_, f_);
  }
  bool backward_reads_bottom(int) const override { return F::kReadsBottom; }
  bool backward_reads_top(int) const override { return F::kReadsTop; }
  bool forward_in_place() const override { return !F::kReadsBottom; }
  bool differentiable(int) const override {
    if constexpr (requires { F::kDifferentiable; }) return F::kDifferentiable;
    return true;
  }
  bool backward_in_place() const override { return true; }

 private:
  std::string name_;
  F f_;
};

}  // namespace crema
