// Parameter (0 bottoms, 1 top; one parameter): a learned array of parameter_param.shape, 0 at
// first, as a top of its own.
//
//   y = p        dp = dy
//
// The top is a copy, since tops lie in the arena and parameters do not. The gradient is added to
// what iter_size or a layer that shares the parameter has given already, as everywhere; in Caffe it
// replaces that.
#include "kernels/blas.h"
#include "layers/fields.h"

namespace crema {
namespace {

class ParameterOp final : public Op {
 public:
  void forward(const RunContext& run) override { run.params[0].copy_to(run.tops[0]); }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.param_gradients[0];
    const Tensor& dy = run.top_gradients[0];
    if (!dy) {
      if (run.accumulate[0] == 0) gradient.fill_zero();
    } else if (run.accumulate[0] != 0) {
      axpy(run.device, gradient.elements(), 1, dy.read(), gradient.update());
    } else {
      dy.copy_to(gradient);
    }
  }
};

class ParameterLayer final : public Layer {
 public:
  explicit ParameterLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const auto& dims = definition.parameter_param().shape().dim();
    shape_ = Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
  }

  Inference infer(const std::vector<Shape>&) const override {
    Inference inference;
    inference.tops = {shape_};
    inference.params = {{shape_, {}}};
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<ParameterOp>();
  }

 private:
  Shape shape_;
};

}  // namespace

std::unique_ptr<Layer> make_parameter(const caffe::LayerParameter& definition) {
  return std::make_unique<ParameterLayer>(definition);
}

}  // namespace crema
