// InnerProduct (1 bottom, 1 top; parameters W and, with bias_term, b): a fully connected layer.
//
//   y = x * W^T + b
//
// The axes of the bottom before `axis` make the M rows of x, those from it on its K columns. W is
// num_output x K, or K x num_output with transpose; b is num_output. Top: the axes before `axis`,
// then num_output.
//
// A channels-last bottom is taken as it is, with the columns of W in its order. A ReLU may run in
// the same sweep (fuse pass); its derivative is told from the sign of the top then.
#include "primitives/inner_product.h"
#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

class InnerProductOp final : public Op {
 public:
  InnerProductOp(const PlanRequest& request, const InnerProductShape& shape)
      : shape_(shape), relu_(request.fused_relu), slope_(request.fused_relu_slope) {
    CREMA_ASSERT(!relu_ || slope_ >= 0);
    engine_ = "sgemm";
    if (relu_ && request.any_gradient()) {
      scratch_bytes_ = static_cast<std::size_t>(shape.m * shape.n) * sizeof(float);
    }
  }

  void forward(const RunContext& run) override {
    inner_product_forward(run.device, shape_, run.bottoms[0].read(), run.params[0].read(),
                          run.params.size() > 1 ? run.params[1].read() : nullptr, relu_, slope_,
                          run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& weights = run.param_gradients[0];
    const Tensor bias = run.param_gradients.size() > 1 ? run.param_gradients[1] : Tensor();
    if (!run.top_gradients[0]) {
      if (run.bottom_gradients[0]) run.bottom_gradients[0].fill_zero();
      if (weights && run.accumulate[0] == 0) weights.fill_zero();
      if (bias && run.accumulate[1] == 0) bias.fill_zero();
      return;
    }
    const float* top_gradient = run.top_gradients[0].read();
    if (relu_) top_gradient = through_relu(run);
    if (weights || bias) {
      inner_product_backward_params(run.device, shape_, run.bottoms[0].read(), top_gradient,
                                    run.accumulate[0] != 0, weights ? weights.update() : nullptr,
                                    bias && run.accumulate[1] != 0, bias ? bias.update() : nullptr);
    }
    if (run.bottom_gradients[0]) {
      inner_product_backward_bottom(run.device, shape_, top_gradient, run.params[0].read(),
                                    run.bottom_gradients[0].write());
    }
  }

 private:
  const float* through_relu(const RunContext& run) const {
    const float* top = run.tops[0].read();
    const float* from = run.top_gradients[0].read();
    float* to = static_cast<float*>(run.scratch);
    const float slope = slope_;
    parallel_for(Cpu{}, run.device, shape_.m * shape_.n,
                 [=](std::int64_t i) { to[i] = top[i] > 0 ? from[i] : slope * from[i]; });
    return to;
  }

  InnerProductShape shape_;
  bool relu_;
  float slope_;
};

class InnerProductLayer final : public Layer {
 public:
  explicit InnerProductLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    num_output_ = num_output_of(parameter().has_num_output(), parameter().num_output(),
                                "inner_product_param.num_output");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const InnerProductShape shape = product_shape(bottoms[0]);
    const auto first = bottoms[0].dims().begin();
    std::vector<std::int64_t> top(first, first + axis(bottoms[0]));
    top.push_back(shape.n);
    Inference inference;
    inference.tops.emplace_back(std::move(top));
    inference.params.push_back(
        param_def(shape.transposed ? Shape{shape.k, shape.n} : Shape{shape.n, shape.k},
                  parameter().weight_filler(), "inner_product_param.weight_filler"));
    if (parameter().bias_term()) {
      inference.params.push_back(
          param_def({shape.n}, parameter().bias_filler(), "inner_product_param.bias_filler"));
    }
    inference.multiply_adds = work_of({shape.m, shape.n, shape.k});
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    std::vector<LayoutChoice> choices = {plain_choice(request)};
    const Layout last = channels_last(bottom);
    if (axis(bottom) == 1 && !parameter().transpose() && !last.is_plain()) {
      choices.push_back(choices[0]);
      choices[1].bottoms[0] = last;
      choices[1].params[0] = channels_last_weights(num_output_, bottom);
    }
    return choices;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<InnerProductOp>(request, product_shape(request.bottoms[0]));
  }

  bool can_fuse_relu(DeviceKind device, std::string* refusal) const override {
    if (device == DeviceKind::kCpu) return true;
    *refusal = "the inner product of this device has no fused form";
    return false;
  }

 private:
  const caffe::InnerProductParameter& parameter() const {
    return definition().inner_product_param();
  }
  int axis(const Shape& bottom) const {
    return axis_of(bottom, parameter().axis(), "inner_product_param.axis");
  }
  InnerProductShape product_shape(const Shape& bottom) const {
    InnerProductShape shape;
    shape.m = bottom.count(0, axis(bottom));
    shape.n = num_output_;
    shape.k = bottom.count_from(axis(bottom));
    shape.transposed = parameter().transpose();
    return shape;
  }

  std::int64_t num_output_;
};

}  // namespace

std::unique_ptr<Layer> make_inner_product(const caffe::LayerParameter& definition) {
  return std::make_unique<InnerProductLayer>(definition);
}

}  // namespace crema
