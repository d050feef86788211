// LSTM (2 to 5 bottoms, 1 or 3 tops; parameters W_xc, b_c, [W_static,] W_hc): long short-term
// memory.
//
//   i, f, o, g = W_xc * x_t + b_c + W_hc * (cont_t * h_{t-1}) + W_static * s       (in this order)
//   i, f, o by the logistic function, g by tanh
//   c_t = cont_t * f * c_{t-1} + i * g        h_t = o * tanh(c_t)
//
// Bottoms: x (T, N, ...), cont (T, N), [s (N, ...)], and with expose_hidden h_0 and c_0 (1, N, H).
// Tops: h (T, N, H), and with expose_hidden h_T and c_T. W_xc (4H, D), b_c (4H), W_static (4H, S),
// W_hc (4H, H). Gradients: primitives/lstm_cell.h. Hochreiter and Schmidhuber, Neural Computation
// 9(8), 1997; Caffe's lstm_layer.cpp.
#include "layers/recurrent.h"
#include "primitives/lstm_cell.h"

namespace crema {
namespace {

class LstmOp final : public RecurrentOp {
 public:
  LstmOp(const PlanRequest& request, const RecurrentShape& recurrent,
         std::shared_ptr<RecurrentState> state)
      : RecurrentOp(request, recurrent, std::move(state)),
        cells_(keep((recurrent.steps + 1) * recurrent.state())),
        dc_(has_backward() ? spare(recurrent.state()) : 0) {}

 private:
  LstmCellShape cell() const { return {shape().streams, shape().hidden}; }
  /// c before `step`: the initial one is kept too, since the carried one changes in this pass.
  float* c_before(const RunContext& run, std::int64_t step) const {
    return kept(run, cells_ + step * shape().state());
  }

  float* hidden(const RunContext& run) const override { return run.tops[0].update(); }

  void before_steps(const RunContext& run) override {
    copy_state(run, initial_state(run, 1), c_before(run, 0));
  }
  void step(const RunContext& run, std::int64_t step) override {
    lstm_cell_forward(run.device, cell(), cont(run, step), c_before(run, step), sums(run, step),
                      sums(run, step), c_before(run, step + 1),
                      hidden(run) + step * shape().state());
  }
  void after_steps(const RunContext& run) override {
    set_final_state(run, 1, c_before(run, shape().steps));
  }

  const float* hidden_gradient(const RunContext& run) override {
    return run.top_gradients[0].read();
  }
  void step_backward(const RunContext& run, std::int64_t step, const float* dh,
                     float* dsums) override {
    float* const dc = spared(run, dc_);
    const std::size_t bytes = static_cast<std::size_t>(shape().state()) * sizeof(float);
    if (step + 1 == shape().steps && bytes > 0) run.device.fill_zero(dc, bytes);
    lstm_cell_backward(run.device, cell(), c_before(run, step), sums(run, step),
                       c_before(run, step + 1), dc, dh, dc, dsums);
  }

  std::int64_t cells_, dc_;
};

class LstmLayer final : public RecurrentLayer {
 public:
  explicit LstmLayer(const caffe::LayerParameter& definition) : RecurrentLayer(definition, 4, 2) {}

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<LstmOp>(request, shape_of(request.bottoms), state());
  }
};

}  // namespace

std::unique_ptr<Layer> make_lstm(const caffe::LayerParameter& definition) {
  return std::make_unique<LstmLayer>(definition);
}

}  // namespace crema
