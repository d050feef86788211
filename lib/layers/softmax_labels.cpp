// The probabilities lie in the second top where there is one, else beside the labels in memory that
// lasts until backward, or only for the call where there is none.
#include "layers/softmax_labels.h"

#include "primitives/softmax.h"

namespace crema {

SoftmaxLabelsOp::SoftmaxLabelsOp(const PlanRequest& request, const ClassAxis& axis,
                                 const caffe::LossParameter& loss)
    : plain_(axis),
      memory_(axis.in(request.bottom_layouts[0])),
      mode_(normalization_mode(loss, caffe::LossParameter::VALID)) {
  if (loss.has_ignore_label()) ignored_ = loss.ignore_label();
  probabilities_ = request.tops.size() > 1 ? 0 : axis.outer * axis.classes * axis.inner;
  (request.any_gradient() ? workspace_bytes_ : scratch_bytes_) =
      static_cast<std::size_t>(probabilities_) * sizeof(float) +
      static_cast<std::size_t>(axis.outer * axis.inner) * sizeof(std::int32_t);
}

void SoftmaxLabelsOp::forward_labels(const RunContext& run) {
  float* const p = run.tops.size() > 1 ? run.tops[1].write() : static_cast<float*>(kept(run));
  auto* const decoded =
      reinterpret_cast<std::int32_t*>(static_cast<float*>(kept(run)) + probabilities_);
  const Labels labels(run, plain_.classes, ignored_);
  valid_ = 0;
  for (std::int64_t i = 0, positions = plain_.outer * plain_.inner; i < positions; ++i) {
    decoded[i] = labels.at(i);
    valid_ += decoded[i] != Labels::kIgnored;
  }
  softmax_forward(run.device, SoftmaxShape{memory_.outer, memory_.classes, memory_.inner},
                  run.bottoms[0].read(), p);
}

std::vector<double> SoftmaxLabelsOp::mean_over(int top) const {
  if (top > 0) return {};
  return normalized_over(mode_, plain_.outer, plain_.inner, valid_);
}

const float* SoftmaxLabelsOp::probabilities(const RunContext& run) const {
  return run.tops.size() > 1 ? run.tops[1].read() : static_cast<const float*>(kept(run));
}

const std::int32_t* SoftmaxLabelsOp::classes(const RunContext& run) const {
  return reinterpret_cast<const std::int32_t*>(static_cast<const float*>(kept(run)) +
                                               probabilities_);
}

float SoftmaxLabelsOp::gradient_scale(const RunContext& run) const {
  return static_cast<float>(static_cast<double>(run.top_gradients[0].read()[0]) / divisor());
}

Inference infer_softmax_labels(const Layer& layer, const std::vector<Shape>& bottoms, int axis,
                               const char* field) {
  require_same_items(bottoms);
  require_labels(bottoms, ClassAxis::of(bottoms[0], axis, field));
  Inference inference;
  inference.tops = {Shape{}};
  if (layer.definition().top_size() > 1) inference.tops.push_back(bottoms[0]);
  return inference;
}

std::vector<LayoutChoice> softmax_labels_layouts(const LayoutRequest& request, int axis,
                                                 const char* field) {
  std::vector<LayoutChoice> choices = {plain_choice(request)};
  const Shape& scores = request.bottoms[0];
  const Layout last = channels_last(scores);
  if (axis_of(scores, axis, field) == 1 && !last.is_plain()) {
    choices.push_back(choices[0]);
    choices[1].bottoms[0] = last;
    if (request.tops.size() > 1) choices[1].tops[1] = last;
  }
  return choices;
}

}  // namespace crema
