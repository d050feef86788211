// See recurrent.h.
#include "layers/recurrent.h"

#include <tuple>

#include "base/error.h"
#include "kernels/blas.h"
#include "layers/fields.h"
#include "primitives/inner_product.h"
#include "primitives/row_loops.h"

namespace crema {
namespace {

/// Of a parameter or bottom of which a gradient is wanted, else null.
float* wanted(const Tensor& gradient) { return gradient ? gradient.update() : nullptr; }

void zero_gradients(const RunContext& run) {
  for (const Tensor& gradient : run.bottom_gradients) {
    if (gradient) gradient.fill_zero();
  }
  for (std::size_t i = 0; i < run.param_gradients.size(); ++i) {
    if (run.param_gradients[i] && run.accumulate[i] == 0) run.param_gradients[i].fill_zero();
  }
}

}  // namespace

float* RecurrentState::blob(Device& device, std::size_t index, std::int64_t count) {
  if (blobs_.size() <= index) blobs_.resize(index + 1);
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (blobs_[index].bytes() != bytes) blobs_[index] = Buffer(device, bytes);
  return blobs_[index].floats();
}

RecurrentOp::RecurrentOp(const PlanRequest& request, const RecurrentShape& shape,
                         std::shared_ptr<RecurrentState> state)
    : shape_(shape), state_(std::move(state)), has_backward_(request.any_gradient()) {
  engine_ = "sgemm";
  sums_ = keep(shape_.rows() * shape_.gates);
  scaled_hidden_ = keep(shape_.rows() * shape_.hidden);
  if (shape_.has_static) static_sums_ = spare(shape_.streams * shape_.gates);
  if (has_backward_) {
    dsums_ = spare(shape_.rows() * shape_.gates);
    dh_ = spare(shape_.state());
    product_ = spare(shape_.state());
  }
}

std::int64_t RecurrentOp::keep(std::int64_t floats) {
  kept_ += floats;
  (has_backward_ ? workspace_bytes_ : scratch_bytes_) +=
      static_cast<std::size_t>(floats) * sizeof(float);
  return kept_ - floats;
}

std::int64_t RecurrentOp::spare(std::int64_t floats) {
  spare_ += floats;
  scratch_bytes_ += static_cast<std::size_t>(floats) * sizeof(float);
  return spare_ - floats;
}

float* RecurrentOp::kept(const RunContext& run, std::int64_t offset) const {
  return static_cast<float*>(has_backward_ ? run.workspace : run.scratch) + offset;
}

float* RecurrentOp::spared(const RunContext& run, std::int64_t offset) const {
  return static_cast<float*>(run.scratch) + (has_backward_ ? 0 : kept_) + offset;
}

const float* RecurrentOp::initial_state(const RunContext& run, std::size_t index) const {
  if (!shape_.exposed) return state_->blob(run.device, index, shape_.state());
  return run.bottoms[(shape_.has_static ? 3 : 2) + index].read();
}

void RecurrentOp::set_final_state(const RunContext& run, std::size_t index,
                                  const float* from) const {
  copy_state(run, from,
             shape_.exposed ? run.tops[1 + index].write()
                            : state_->blob(run.device, index, shape_.state()));
}

void RecurrentOp::copy_state(const RunContext& run, const float* from, float* to) const {
  const std::size_t bytes = static_cast<std::size_t>(shape_.state()) * sizeof(float);
  if (from != to && bytes > 0) run.device.copy_within(from, to, bytes);
}

void RecurrentOp::input_sums(const RunContext& run) const {
  const InnerProductShape product{shape_.rows(), shape_.gates, shape_.inputs};
  inner_product_forward(run.device, product, run.bottoms[0].read(), run.params[0].read(),
                        run.params[1].read(), false, 0.0f, sums(run, 0));
  if (!shape_.has_static) return;
  const InnerProductShape of_static{shape_.streams, shape_.gates, shape_.statics};
  float* const added = spared(run, static_sums_);
  inner_product_forward<float>(run.device, of_static, run.bottoms[2].read(), run.params[2].read(),
                               nullptr, false, 0.0f, added);
  add_repeated_rows(run.device, shape_.rows(), shape_.gates, shape_.streams, added, sums(run, 0));
}

void RecurrentOp::forward(const RunContext& run) {
  const auto [streams, hidden_units, gates] =
      std::tuple(shape_.streams, shape_.hidden, shape_.gates);
  const float* const weights = run.params[first_own_param() - 1].read();
  const float* previous = initial_state(run, 0);
  input_sums(run);
  before_steps(run);
  for (std::int64_t t = 0; t < shape_.steps; ++t) {
    float* const scaled = kept(run, scaled_hidden_ + t * shape_.state());
    scale_rows(run.device, streams, hidden_units, cont(run, t), previous, scaled);
    gemm(run.device, Transpose::kNo, Transpose::kYes, streams, gates, hidden_units, 1.0f, scaled,
         hidden_units, weights, hidden_units, 1.0f, sums(run, t), gates);
    step(run, t);
    previous = hidden(run) + t * shape_.state();
  }
  after_steps(run);
  set_final_state(run, 0, previous);
}

void RecurrentOp::backward(const RunContext& run) {
  if (!run.top_gradients[0]) {
    zero_gradients(run);
    return;
  }
  const auto [streams, hidden_units, gates] =
      std::tuple(shape_.streams, shape_.hidden, shape_.gates);
  const float* const weights = run.params[first_own_param() - 1].read();
  const float* const from_top = hidden_gradient(run);
  float* const product = spared(run, product_);
  for (std::int64_t t = shape_.steps - 1; t >= 0; --t) {
    const float* dh = from_top + t * shape_.state();
    float* const dsums = spared(run, dsums_ + t * streams * gates);
    if (t + 1 < shape_.steps) {
      gemm(run.device, Transpose::kNo, Transpose::kNo, streams, hidden_units, gates, 1.0f,
           dsums + streams * gates, gates, weights, hidden_units, 0.0f, product, hidden_units);
      add_scaled_rows(run.device, streams, hidden_units, dh, cont(run, t + 1), product,
                      spared(run, dh_));
      dh = spared(run, dh_);
    }
    step_backward(run, t, dh, dsums);
  }
  input_gradients(run);
  if (shape_.has_static) static_gradients(run);
}

void RecurrentOp::input_gradients(const RunContext& run) const {
  const float* const dsums = spared(run, dsums_);
  const InnerProductShape of_input{shape_.rows(), shape_.gates, shape_.inputs};
  inner_product_backward_params(run.device, of_input, run.bottoms[0].read(), dsums,
                                run.accumulate[0] != 0, wanted(run.param_gradients[0]),
                                run.accumulate[1] != 0, wanted(run.param_gradients[1]));
  const std::size_t recurrent = first_own_param() - 1;
  const InnerProductShape of_hidden{shape_.rows(), shape_.gates, shape_.hidden};
  inner_product_backward_params<float>(run.device, of_hidden, kept(run, scaled_hidden_), dsums,
                                       run.accumulate[recurrent] != 0,
                                       wanted(run.param_gradients[recurrent]), false, nullptr);
  if (run.bottom_gradients[0]) {
    inner_product_backward_bottom(run.device, of_input, dsums, run.params[0].read(),
                                  run.bottom_gradients[0].write());
  }
}

void RecurrentOp::static_gradients(const RunContext& run) const {
  // The static input adds the same to every step.
  float* const sum = spared(run, static_sums_);
  sum_rows(run.device, shape_.steps, shape_.streams * shape_.gates, spared(run, dsums_), false,
           sum);
  const InnerProductShape of_static{shape_.streams, shape_.gates, shape_.statics};
  inner_product_backward_params<float>(run.device, of_static, run.bottoms[2].read(), sum,
                                       run.accumulate[2] != 0, wanted(run.param_gradients[2]),
                                       false, nullptr);
  if (run.bottom_gradients[2]) {
    inner_product_backward_bottom(run.device, of_static, sum, run.params[2].read(),
                                  run.bottom_gradients[2].write());
  }
}

RecurrentLayer::RecurrentLayer(const caffe::LayerParameter& definition, int gates, int states)
    : Layer(definition),
      gates_(gates),
      states_(states),
      hidden_(num_output_of(definition.recurrent_param().has_num_output(),
                            definition.recurrent_param().num_output(),
                            "recurrent_param.num_output")),
      exposed_(definition.recurrent_param().expose_hidden()) {}

bool RecurrentLayer::has_static() const {
  return definition().bottom_size() == 3 + (exposed_ ? states_ : 0);
}

RecurrentShape RecurrentLayer::shape_of(const std::vector<Shape>& bottoms) const {
  const int exposed = exposed_ ? states_ : 0, tops = definition().top_size();
  const int given = static_cast<int>(bottoms.size()) - exposed;
  const char* const mode = exposed_ ? "with" : "without";
  require(given == 2 || given == 3,
          "has {} bottoms, but {} recurrent_param.expose_hidden it takes {}, or {} with a static "
          "input",
          bottoms.size(), mode, 2 + exposed, 3 + exposed);
  require(tops == 1 + exposed, "has {} tops, but {} recurrent_param.expose_hidden it gives {}",
          tops, mode, 1 + exposed);
  const Shape& x = bottoms[0];
  require(x.axes() >= 3,
          "the input must have at least 3 axes (time steps x streams x ...), but its shape is {}",
          x.str());
  RecurrentShape shape;
  shape.steps = x[0];
  shape.streams = x[1];
  shape.inputs = x.count_from(2);
  shape.hidden = hidden_;
  shape.gates = gates_ * hidden_;
  shape.has_static = has_static();
  shape.exposed = exposed_;
  const Shape cont{shape.steps, shape.streams};
  require(bottoms[1] == cont,
          "cont (bottom 1) has shape {}, but {} (time steps x streams) is needed for the input's "
          "shape {}",
          bottoms[1].str(), cont.str(), x.str());
  if (shape.has_static) {
    require(bottoms[2].axes() >= 2 && bottoms[2][0] == shape.streams,
            "the static input (bottom 2) has shape {}, but must have {} (streams) and at least one "
            "more axis for the input's shape {}",
            bottoms[2].str(), shape.streams, x.str());
    shape.statics = bottoms[2].count_from(1);
  }
  const Shape sums{1, shape.streams, shape.gates};  // not too large, even where there is no step
  const Shape state = sums.with(2, hidden_);
  for (std::size_t i = shape.has_static ? 3 : 2; i < bottoms.size(); ++i) {
    require(bottoms[i] == state, "the initial state (bottom {}) has shape {}, but {} is needed", i,
            bottoms[i].str(), state.str());
  }
  return shape;
}

ParamDef RecurrentLayer::weights(Shape shape) const {
  return param_def(std::move(shape), definition().recurrent_param().weight_filler(),
                   "recurrent_param.weight_filler");
}

ParamDef RecurrentLayer::bias(Shape shape) const {
  return param_def(std::move(shape), definition().recurrent_param().bias_filler(),
                   "recurrent_param.bias_filler");
}

Inference RecurrentLayer::infer(const std::vector<Shape>& bottoms) const {
  const RecurrentShape shape = shape_of(bottoms);
  Inference inference;
  inference.tops.push_back({shape.steps, shape.streams, shape.hidden});
  for (int i = 0; exposed_ && i < states_; ++i) {
    inference.tops.push_back({1, shape.streams, shape.hidden});
  }
  inference.params = {weights({shape.gates, shape.inputs}), bias({shape.gates})};
  if (shape.has_static) inference.params.push_back(weights({shape.gates, shape.statics}));
  inference.params.push_back(weights({shape.gates, shape.hidden}));
  // Three products of at most 2^56 each cannot overflow their sum.
  inference.multiply_adds = work_of({shape.rows(), shape.gates, shape.inputs}) +
                            work_of({shape.streams, shape.gates, shape.statics}) +
                            work_of({shape.rows(), shape.gates, shape.hidden});
  infer_own(shape, inference);
  return inference;
}

bool RecurrentLayer::backward_reads_bottom(int bottom) const {
  return bottom < 2 || (bottom == 2 && has_static());
}

bool RecurrentLayer::differentiable(int bottom) const {
  return bottom == 0 || (bottom == 2 && has_static());
}

std::shared_ptr<RecurrentState> RecurrentLayer::state() const {
  std::shared_ptr<RecurrentState> state = state_.lock();
  if (!state) {
    state = std::make_shared<RecurrentState>();
    state_ = state;
  }
  return state;
}

}  // namespace crema
