// Embed (1 bottom, 1 top; parameters W and, with bias_term, b): the row of a table that each input
// names.
//
//   y[i] = W[x[i]] + b        dW[x[i]] += dy[i], db = sum of dy[i]
//
// W is input_dim x num_output, b num_output; the top has the bottom's axes and num_output. Inputs
// are cut to integers, as in Caffe, but checked, and get no gradient.
#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/rows.h"
#include "layers/fields.h"

namespace crema {
namespace {

class EmbedOp final : public Op {
 public:
  explicit EmbedOp(const PlanRequest& request)
      : items_(request.bottoms[0].count()),
        rows_(request.params[0][0]),
        length_(request.params[0][1]) {}

  void forward(const RunContext& run) override {
    require_inputs(run);
    run_loop(run.device, "gather_rows", &gather_rows<Cpu, float>, items_, length_,
             run.bottoms[0].read(), run.params[0].read(),
             run.params.size() > 1 ? run.params[1].read() : nullptr, run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& dy = run.top_gradients[0];
    const Tensor& table = run.param_gradients[0];
    if (table && run.accumulate[0] == 0) table.fill_zero();
    if (table && dy) {
      run_loop(run.device, "scatter_add_rows", &scatter_add_rows<Cpu, float>, items_, length_,
               run.bottoms[0].read(), dy.read(), table.update());
    }
    if (run.param_gradients.size() < 2 || !run.param_gradients[1]) return;
    const Tensor& bias = run.param_gradients[1];
    if (dy) {
      sum_rows(run.device, items_, length_, dy.read(), run.accumulate[1] != 0, bias.update());
    } else if (run.accumulate[1] == 0) {
      bias.fill_zero();
    }
  }

 private:
  void require_inputs(const RunContext& run) const {
    const std::int64_t bad = first_bad_index(run.bottoms[0], rows_);
    if (bad < 0) return;
    fail("input {:g} of {} is not in 0..{} (embed_param.input_dim is {})",
         value_at(run.bottoms[0], bad), place_of(run, 0, bad), rows_ - 1, rows_);
  }

  std::int64_t items_, rows_, length_;
};

class EmbedLayer final : public Layer {
 public:
  explicit EmbedLayer(const caffe::LayerParameter& definition)
      : Layer(definition),
        num_output_(num_output_of(parameter().has_num_output(), parameter().num_output(),
                                  "embed_param.num_output")) {
    require(parameter().input_dim() > 0,
            "embed_param.input_dim must be at least 1: the number of values that the input may "
            "have");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const auto dims = bottoms[0].dims();
    std::vector<std::int64_t> top(dims.begin(), dims.end());
    top.push_back(num_output_);
    Inference inference;
    inference.tops.emplace_back(std::move(top));
    inference.params.push_back(param_def({parameter().input_dim(), num_output_},
                                         parameter().weight_filler(), "embed_param.weight_filler"));
    if (parameter().bias_term()) {
      inference.params.push_back(
          param_def({num_output_}, parameter().bias_filler(), "embed_param.bias_filler"));
    }
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<EmbedOp>(request);
  }
  bool differentiable(int) const override { return false; }

 private:
  const caffe::EmbedParameter& parameter() const { return definition().embed_param(); }

  std::int64_t num_output_;
};

}  // namespace

std::unique_ptr<Layer> make_embed(const caffe::LayerParameter& definition) {
  return std::make_unique<EmbedLayer>(definition);
}

}  // namespace crema
