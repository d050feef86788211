// What RNN and LSTM have in common: T time steps of N sequences (streams) side by side, each step
// with H units that see the input and, through `cont`, their own last state.
//
//   sums_t = W_x * x_t + b + W_static * s + W_h * (cont_t * h_{t-1})
//
// Bottoms: x (T, N, ...), cont (T, N), [s (N, ...)] and with expose_hidden the initial states, each
// (1, N, H). Tops: the outputs (T, N, H) and with expose_hidden the final states. Parameters: W_x
// (G, D), b (G), [W_static (G, S)], W_h (G, H), then the layer's own; G is H times the number of
// gates, D and S the flattened inputs.
//
// Without expose_hidden the state after the last step starts the next pass. No gradient crosses
// passes: none goes to initial states, none comes from final ones.
//
// What depends on no other step is one product over all T*N rows; W_h * h is a product a step.
// Caffe makes a net of one layer a step out of it (recurrent_layer.cpp); the sums are the same.
#pragma once

#include <memory>
#include <vector>

#include "layers/layer.h"

namespace crema {

struct RecurrentShape {
  std::int64_t steps = 0, streams = 0;       ///< T, N
  std::int64_t inputs = 0, statics = 0;      ///< D, S
  std::int64_t hidden = 0, gates = 0;        ///< H, G
  bool has_static = false, exposed = false;  ///< is there s; are states bottoms and tops

  std::int64_t rows() const { return steps * streams; }
  /// Numbers of a state.
  std::int64_t state() const { return streams * hidden; }
};

/// The state that a net carries from pass to pass, shared by the plans of its shapes.
class RecurrentState {
 public:
  /// State `index` of `count` numbers: zero at first and when another count is asked for.
  float* blob(Device& device, std::size_t index, std::int64_t count);

 private:
  std::vector<Buffer> blobs_;
};

class RecurrentOp : public Op {
 public:
  void forward(const RunContext& run) final;
  void backward(const RunContext& run) final;

 protected:
  RecurrentOp(const PlanRequest& request, const RecurrentShape& shape,
              std::shared_ptr<RecurrentState> state);

  const RecurrentShape& shape() const { return shape_; }
  bool has_backward() const { return has_backward_; }

  // Memory, asked for by a number of floats when the op is made. keep() is there from forward to
  // backward, spare() for one call.
  std::int64_t keep(std::int64_t floats);
  std::int64_t spare(std::int64_t floats);
  float* kept(const RunContext& run, std::int64_t offset) const;
  float* spared(const RunContext& run, std::int64_t offset) const;

  float* sums(const RunContext& run, std::int64_t step) const {
    return kept(run, sums_ + step * shape_.streams * shape_.gates);
  }
  /// Initial state `index`: a bottom or what the last pass left.
  const float* initial_state(const RunContext& run, std::size_t index) const;
  void set_final_state(const RunContext& run, std::size_t index, const float* from) const;
  void copy_state(const RunContext& run, const float* from, float* to) const;

  const float* cont(const RunContext& run, std::int64_t step) const {
    return run.bottoms[1].read() + step * shape_.streams;
  }
  std::size_t first_own_param() const { return shape_.has_static ? 4 : 3; }

  /// Where h of all steps is kept or goes.
  virtual float* hidden(const RunContext& run) const = 0;
  virtual void before_steps(const RunContext&) {}
  /// sums(step) are complete: makes h of this step.
  virtual void step(const RunContext& run, std::int64_t step) = 0;
  virtual void after_steps(const RunContext&) {}

  /// The gradient of h of all steps that comes from the top (there is one).
  virtual const float* hidden_gradient(const RunContext& run) = 0;
  /// Gradient of sums(step) from that of h; called from the last step to the first.
  virtual void step_backward(const RunContext& run, std::int64_t step, const float* dh,
                             float* dsums) = 0;

 private:
  void input_sums(const RunContext& run) const;
  void input_gradients(const RunContext& run) const;
  void static_gradients(const RunContext& run) const;

  RecurrentShape shape_;
  std::shared_ptr<RecurrentState> state_;
  bool has_backward_;
  std::int64_t kept_ = 0, spare_ = 0;  ///< floats asked for so far
  std::int64_t sums_, scaled_hidden_, static_sums_ = 0;
  std::int64_t dsums_ = 0, dh_ = 0, product_ = 0;
};

class RecurrentLayer : public Layer {
 public:
  Inference infer(const std::vector<Shape>& bottoms) const final;
  bool backward_reads_bottom(int bottom) const final;
  /// Gradients end at x and the static input.
  bool differentiable(int bottom) const final;

 protected:
  /// `gates`: sums a unit has. `states`: blobs of the state, h among them.
  RecurrentLayer(const caffe::LayerParameter& definition, int gates, int states);

  RecurrentShape shape_of(const std::vector<Shape>& bottoms) const;
  std::shared_ptr<RecurrentState> state() const;
  ParamDef weights(Shape shape) const;
  ParamDef bias(Shape shape) const;
  /// The layer's own parameters and work.
  virtual void infer_own(const RecurrentShape&, Inference&) const {}

 private:
  bool has_static() const;

  int gates_, states_;
  std::int64_t hidden_;
  bool exposed_;
  /// Lives as long as one of the ops does: the memory is the device's.
  mutable std::weak_ptr<RecurrentState> state_;
};

}  // namespace crema
