// For layers whose top is their bottom under another name or shape.
#pragma once

#include "base/error.h"
#include "layers/layer.h"

namespace crema {

/// Copies, for whoever does not use that top and gradient are views. Nothing else is to be done.
class ViewOp final : public Op {
 public:
  void forward(const RunContext& run) override { run.bottoms[0].copy_to(run.tops[0]); }
  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      run.top_gradients[0].copy_to(run.bottom_gradients[0]);
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }
};

/// A top of the bottom's name but of another shape is refused, as Caffe does.
inline void require_new_name(const caffe::LayerParameter& definition) {
  const bool same = definition.bottom_size() > 0 && definition.top_size() > 0 &&
                    definition.bottom(0) == definition.top(0);
  require(!same, "the top must have another name than the bottom: {} does not work in place",
          definition.type());
}

/// Flatten and Reshape: 1 bottom, 1 top with its values in another shape.
class ReshapingLayer : public Layer {
 public:
  explicit ReshapingLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require_new_name(definition);
  }

  Inference infer(const std::vector<Shape>& bottoms) const final {
    Inference inference;
    inference.tops = {top_shape(bottoms[0])};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest&) const final { return std::make_unique<ViewOp>(); }
  bool backward_reads_bottom(int) const final { return false; }
  bool is_view(int) const final { return true; }
  bool is_gradient_view() const final { return true; }

 protected:
  /// Of the same count.
  virtual Shape top_shape(const Shape& bottom) const = 0;
};

}  // namespace crema
