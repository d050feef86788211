// LSTMUnit (3 bottoms, 2 tops): one time step of an LSTM without its products.
//
// Bottoms: c_previous (1, N, H), gates (1, N, 4H: sums of i, f, o, g), cont (1, N). Tops: c and h
// (1, N, H). Formulas: primitives/lstm_cell.h. Caffe's lstm_unit_layer.cpp.
#include "base/error.h"
#include "layers/layer.h"
#include "primitives/lstm_cell.h"

namespace crema {
namespace {

class LstmUnitOp final : public Op {
 public:
  explicit LstmUnitOp(const PlanRequest& request)
      : shape_{request.bottoms[0][1], request.bottoms[0][2]},
        has_backward_(request.any_gradient()) {
    const auto gates = static_cast<std::size_t>(request.bottoms[1].count()) * sizeof(float);
    (has_backward_ ? workspace_bytes_ : scratch_bytes_) = gates;
    // Zeros for a gradient that does not arrive, and room for those that nobody asks for.
    if (has_backward_) scratch_bytes_ = state_bytes() * 2 + gates;
  }

  void forward(const RunContext& run) override {
    lstm_cell_forward(run.device, shape_, run.bottoms[2].read(), run.bottoms[0].read(),
                      run.bottoms[1].read(),
                      static_cast<float*>(has_backward_ ? run.workspace : run.scratch),
                      run.tops[0].write(), run.tops[1].write());
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0] && !run.top_gradients[1]) {
      for (const Tensor& gradient : run.bottom_gradients) {
        if (gradient) gradient.fill_zero();
      }
      return;
    }
    auto* const zeros = static_cast<float*>(run.scratch);
    if (state_bytes() > 0) run.device.fill_zero(zeros, state_bytes());
    const auto from = [&](std::size_t top) {
      return run.top_gradients[top] ? run.top_gradients[top].read() : zeros;
    };
    const auto to = [&](std::size_t bottom, float* unwanted) {
      return run.bottom_gradients[bottom] ? run.bottom_gradients[bottom].write() : unwanted;
    };
    const std::int64_t state = shape_.streams * shape_.hidden;
    lstm_cell_backward(run.device, shape_, run.bottoms[0].read(),
                       static_cast<const float*>(run.workspace), run.tops[0].read(), from(0),
                       from(1), to(0, zeros + state), to(1, zeros + 2 * state));
  }

 private:
  std::size_t state_bytes() const {
    return static_cast<std::size_t>(shape_.streams * shape_.hidden) * sizeof(float);
  }

  LstmCellShape shape_;
  bool has_backward_;
};

class LstmUnitLayer final : public Layer {
 public:
  explicit LstmUnitLayer(const caffe::LayerParameter& definition) : Layer(definition) {}

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& c = bottoms[0];
    require(c.axes() == 3 && c[0] == 1,
            "the previous cell state (bottom 0) must have shape 1 x streams x units, not {}",
            c.str());
    const Shape& gates = bottoms[1];
    require(gates.axes() == 3 && gates[0] == 1 && gates[1] == c[1] && gates[2] % 4 == 0 &&
                gates[2] / 4 == c[2],
            "the gates (bottom 1) must have shape 1 x streams x 4*units for a cell state of shape "
            "{}, not {}",
            c.str(), gates.str());
    const Shape cont{1, c[1]};
    require(bottoms[2] == cont,
            "cont (bottom 2) must have shape {} for a cell state of shape {}, not {}", cont.str(),
            c.str(), bottoms[2].str());
    Inference inference;
    inference.tops = {c, c};
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<LstmUnitOp>(request);
  }
  bool backward_reads_bottom(int bottom) const override { return bottom == 0; }
  bool backward_reads_top(int top) const override { return top == 0; }
  bool differentiable(int bottom) const override { return bottom != 2; }
};

}  // namespace

std::unique_ptr<Layer> make_lstm_unit(const caffe::LayerParameter& definition) {
  return std::make_unique<LstmUnitLayer>(definition);
}

}  // namespace crema
