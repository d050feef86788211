// RNN (2 to 4 bottoms, 1 or 2 tops; parameters W_xh, b_h, [W_static,] W_hh, W_ho, b_o): a plain
// recurrent net.
//
//   h_t = tanh(W_xh * x_t + b_h + W_hh * (cont_t * h_{t-1}) + W_static * s)
//   o_t = tanh(W_ho * h_t + b_o)
//
//   da = do * (1 - o^2)        dh_t = W_ho^T * da_t + cont_{t+1} * W_hh^T * dsums_{t+1}
//   dsums_t = dh_t * (1 - h_t^2)
//
// Bottoms: x (T, N, ...), cont (T, N), [s (N, ...)], and with expose_hidden h_0 (1, N, H). Tops: o
// (T, N, H), and with expose_hidden h_T. W_xh (H, D), b_h (H), W_static (H, S), W_hh (H, H), W_ho
// (H, H), b_o (H). Caffe's rnn_layer.cpp.
#include "kernels/pointwise.h"
#include "kernels/tanh_value.h"
#include "layers/fields.h"
#include "layers/recurrent.h"
#include "primitives/inner_product.h"

namespace crema {
namespace {

void tanh_in_place(Device& device, std::int64_t n, float* values) {
  run_loop(device, "tanh.forward", &pointwise_forward<Cpu, TanhValue, float>, TanhValue{}, n,
           values, values);
}

void tanh_backward(Device& device, std::int64_t n, const float* y, const float* dy, float* dx) {
  run_loop(device, "tanh.backward", &pointwise_backward<Cpu, TanhValue, float>, TanhValue{}, n,
           static_cast<const float*>(nullptr), y, dy, dx);
}

class RnnOp final : public RecurrentOp {
 public:
  RnnOp(const PlanRequest& request, const RecurrentShape& recurrent,
        std::shared_ptr<RecurrentState> state)
      : RecurrentOp(request, recurrent, std::move(state)) {
    if (has_backward()) {
      da_ = spare(recurrent.rows() * recurrent.hidden);
      dh_ = spare(recurrent.rows() * recurrent.hidden);
    }
  }

 private:
  std::int64_t values() const { return shape().rows() * shape().hidden; }
  InnerProductShape to_output() const { return {shape().rows(), shape().hidden, shape().hidden}; }

  // One gate a unit: h takes the place of its sum.
  float* hidden(const RunContext& run) const override { return sums(run, 0); }

  void step(const RunContext& run, std::int64_t step) override {
    tanh_in_place(run.device, shape().state(), sums(run, step));
  }
  void after_steps(const RunContext& run) override {
    const std::size_t own = first_own_param();
    inner_product_forward(run.device, to_output(), hidden(run), run.params[own].read(),
                          run.params[own + 1].read(), false, 0.0f, run.tops[0].write());
    tanh_in_place(run.device, values(), run.tops[0].update());
  }

  const float* hidden_gradient(const RunContext& run) override {
    const std::size_t own = first_own_param();
    const Tensor& weights = run.param_gradients[own];
    const Tensor& bias = run.param_gradients[own + 1];
    float* const da = spared(run, da_);
    tanh_backward(run.device, values(), run.tops[0].read(), run.top_gradients[0].read(), da);
    inner_product_backward_params(run.device, to_output(), hidden(run), da,
                                  run.accumulate[own] != 0, weights ? weights.update() : nullptr,
                                  run.accumulate[own + 1] != 0, bias ? bias.update() : nullptr);
    inner_product_backward_bottom(run.device, to_output(), da, run.params[own].read(),
                                  spared(run, dh_));
    return spared(run, dh_);
  }
  void step_backward(const RunContext& run, std::int64_t step, const float* dh,
                     float* dsums) override {
    tanh_backward(run.device, shape().state(), sums(run, step), dh, dsums);
  }

  std::int64_t da_ = 0, dh_ = 0;
};

class RnnLayer final : public RecurrentLayer {
 public:
  explicit RnnLayer(const caffe::LayerParameter& definition) : RecurrentLayer(definition, 1, 1) {}

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<RnnOp>(request, shape_of(request.bottoms), state());
  }
  bool backward_reads_top(int top) const override { return top == 0; }

 private:
  void infer_own(const RecurrentShape& shape, Inference& inference) const override {
    inference.params.push_back(weights({shape.hidden, shape.hidden}));
    inference.params.push_back(bias({shape.hidden}));
    inference.multiply_adds += work_of({shape.rows(), shape.hidden, shape.hidden});
  }
};

}  // namespace

std::unique_ptr<Layer> make_rnn(const caffe::LayerParameter& definition) {
  return std::make_unique<RnnLayer>(definition);
}

}  // namespace crema
