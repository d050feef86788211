// ArgMax (1 bottom, 1 top): positions of the top_k largest values, the largest first.
//
// Without axis, over all axes but the first taken as one: the top is N x 1 x top_k (with further
// axes of size 1 up to those of the bottom), or with out_max_val N x 2 x top_k, positions and then
// values. With axis, along it: it becomes top_k positions, or with out_max_val top_k values.
//
// Of equal values the one at the larger position comes first. NaN counts as larger than all else,
// so that it is seen. There is no gradient. Along channels (axis 1) it also works channels-last.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/class_axis.h"

namespace crema {
namespace {

struct Candidate {
  float value;
  std::int64_t position;
};

bool comes_first(const Candidate& a, const Candidate& b) {
  if (a.value > b.value) return true;
  if (a.value < b.value) return false;
  const bool a_nan = std::isnan(a.value), b_nan = std::isnan(b.value);
  return a_nan != b_nan ? a_nan : a.position > b.position;
}

/// Puts the first `k` of `n` values that are `stride` apart into `best`, in order.
void select(const float* values, std::int64_t n, std::int64_t stride, std::int64_t k,
            Candidate* best) {
  // A heap with the last of the best on top.
  for (std::int64_t i = 0; i < k; ++i) best[i] = {values[i * stride], i};
  std::make_heap(best, best + k, comes_first);
  for (std::int64_t i = k; i < n; ++i) {
    const Candidate next{values[i * stride], i};
    if (!comes_first(next, best[0])) continue;
    std::pop_heap(best, best + k, comes_first);
    best[k - 1] = next;
    std::push_heap(best, best + k, comes_first);
  }
  std::sort_heap(best, best + k, comes_first);
}

enum class Output { kPositions, kValues, kBoth };

class ArgMaxOp final : public Op {
 public:
  ArgMaxOp(const ClassAxis& axis, std::int64_t k, Output output)
      : axis_(axis), k_(k), output_(output) {
    scratch_bytes_ = static_cast<std::size_t>(axis.outer * axis.inner * k) * sizeof(Candidate);
  }

  void forward(const RunContext& run) override {
    const float* const from = run.bottoms[0].read();
    float* const to = run.tops[0].write();
    auto* const scratch = static_cast<Candidate*>(run.scratch);
    const std::int64_t inner = axis_.inner, n = axis_.classes, k = k_;
    const Output output = output_;
    parallel_for(
        Cpu{}, run.device, axis_.outer * inner,
        [=](std::int64_t index) {
          const std::int64_t o = index / inner, i = index % inner;
          Candidate* const best = scratch + index * k;
          select(from + o * n * inner + i, n, inner, k, best);
          float* const target = to + o * k * inner * (output == Output::kBoth ? 2 : 1) + i;
          for (std::int64_t j = 0; j < k; ++j) {
            const auto position = static_cast<float>(best[j].position);
            target[j * inner] = output == Output::kValues ? best[j].value : position;
            if (output == Output::kBoth) target[(k + j) * inner] = best[j].value;
          }
        },
        2 * n);
  }

 private:
  ClassAxis axis_;
  std::int64_t k_;
  Output output_;
};

class ArgMaxLayer final : public Layer {
 public:
  explicit ArgMaxLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(parameter().top_k() > 0, "argmax_param.top_k is 0, it must be at least 1");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    const std::int64_t k = parameter().top_k(), values = seen(bottom).classes;
    require(k <= values, "argmax_param.top_k {} is more than the {} values of {} to choose from", k,
            values, bottom.str());
    Inference inference;
    if (parameter().has_axis()) {
      inference.tops = {bottom.with(axis(bottom), k)};
    } else {
      std::vector<std::int64_t> top(static_cast<std::size_t>(std::max(bottom.axes(), 3)), 1);
      top[0] = bottom[0];
      top[1] = parameter().out_max_val() ? 2 : 1;
      top[2] = k;
      inference.tops = {Shape(top)};
    }
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (!parameter().has_axis() || axis(request.bottoms[0]) != 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    Output output = Output::kPositions;
    if (parameter().out_max_val()) {
      output = parameter().has_axis() ? Output::kValues : Output::kBoth;
    }
    return std::make_unique<ArgMaxOp>(seen(request.bottoms[0]).in(request.bottom_layouts[0]),
                                      parameter().top_k(), output);
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool differentiable(int) const override { return false; }

 private:
  const caffe::ArgMaxParameter& parameter() const { return definition().argmax_param(); }
  int axis(const Shape& bottom) const {
    return axis_of(bottom, parameter().axis(), "argmax_param.axis");
  }
  ClassAxis seen(const Shape& bottom) const {
    if (parameter().has_axis()) {
      const int a = axis(bottom);
      return {bottom.count(0, a), bottom[a], bottom.count_from(a + 1)};
    }
    require(bottom.axes() > 0, "the bottom is a scalar; it needs items along axis 0");
    return {bottom[0], bottom.count_from(1), 1};
  }
};

}  // namespace

std::unique_ptr<Layer> make_argmax(const caffe::LayerParameter& definition) {
  return std::make_unique<ArgMaxLayer>(definition);
}

}  // namespace crema
