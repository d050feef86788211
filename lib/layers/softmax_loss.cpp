// SoftmaxWithLoss (2 bottoms: scores and labels; 1 to 2 tops: the loss and, if wanted, the
// probabilities).
//
//   p = softmax(x) along `axis`
//
//   loss = -1/Z * sum over positions of log(max(p[label], FLT_MIN))
//
//   dx = L/Z * (p - onehot(label)), 0 where the label is ignored; L is the gradient of the loss
//
// Scores: outer x classes x inner. Labels: outer * inner of them, in any shape, with the same axis
// 0. Z by loss_param.normalization (FULL, VALID: the default, BATCH_SIZE, NONE), at least 1. A
// label that is neither a class nor ignore_label is an error. A gradient of the second top is
// ignored.
#include <cfloat>
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/class_axis.h"
#include "layers/loss.h"
#include "primitives/softmax.h"

namespace crema {
namespace {

class SoftmaxLossOp final : public Op {
 public:
  SoftmaxLossOp(const PlanRequest& request, const ClassAxis& axis, const caffe::LossParameter& loss)
      : plain_(axis),
        memory_(axis.in(request.bottom_layouts[0])),
        mode_(normalization_mode(loss, caffe::LossParameter::VALID)) {
    if (loss.has_ignore_label()) ignored_ = loss.ignore_label();
    probabilities_ = request.tops.size() > 1 ? 0 : axis.outer * axis.classes * axis.inner;
    (request.any_gradient() ? workspace_bytes_ : scratch_bytes_) =
        static_cast<std::size_t>(probabilities_) * sizeof(float) +
        static_cast<std::size_t>(axis.outer * axis.inner) * sizeof(std::int32_t);
  }

  void forward(const RunContext& run) override {
    void* const memory = workspace_bytes_ > 0 ? run.workspace : run.scratch;
    float* p = run.tops.size() > 1 ? run.tops[1].write() : static_cast<float*>(memory);
    std::int32_t* const classes = classes_in(memory);
    decode_labels(run, classes);
    softmax_forward(run.device, SoftmaxShape{memory_.outer, memory_.classes, memory_.inner},
                    run.bottoms[0].read(), p);
    double sum = 0;
    for (std::int64_t o = 0; o < memory_.outer; ++o) {
      for (std::int64_t i = 0; i < memory_.inner; ++i) {
        const int label = classes[o * memory_.inner + i];
        if (label == Labels::kIgnored) continue;
        const float probability = p[(o * memory_.classes + label) * memory_.inner + i];
        // Written so that NaN stays NaN.
        sum -= std::log(static_cast<double>(probability < FLT_MIN ? FLT_MIN : probability));
      }
    }
    run.tops[0].write()[0] =
        static_cast<float>(sum / normalizer(mode_, plain_.outer, plain_.inner, valid_));
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    const auto scale = static_cast<float>(static_cast<double>(run.top_gradients[0].read()[0]) /
                                          normalizer(mode_, plain_.outer, plain_.inner, valid_));
    const std::int32_t* const classes = classes_in(run.workspace);
    const float* p =
        run.tops.size() > 1 ? run.tops[1].read() : static_cast<const float*>(run.workspace);
    float* dx = gradient.write();
    const std::int64_t inner = memory_.inner, block = memory_.classes * inner;
    parallel_ranges(run.device, memory_.outer, block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * block; i < end * block; ++i) dx[i] = scale * p[i];
      for (std::int64_t o = begin; o < end; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          const int label = classes[o * inner + i];
          float* const column = dx + o * block + i;
          if (label != Labels::kIgnored) {
            column[label * inner] -= scale;
          } else {
            for (std::int64_t c = 0; c < memory_.classes; ++c) column[c * inner] = 0;
          }
        }
      }
    });
  }

 private:
  std::int32_t* classes_in(void* memory) const {
    return reinterpret_cast<std::int32_t*>(static_cast<float*>(memory) + probabilities_);
  }
  void decode_labels(const RunContext& run, std::int32_t* classes) {
    const Labels labels(run, plain_.classes, ignored_);
    valid_ = 0;
    for (std::int64_t i = 0, positions = plain_.outer * plain_.inner; i < positions; ++i) {
      classes[i] = labels.at(i);
      valid_ += classes[i] != Labels::kIgnored;
    }
  }

  ClassAxis plain_, memory_;
  NormalizationMode mode_;
  std::optional<int> ignored_;
  std::int64_t probabilities_ = 0;  ///< kept here (and not in a top), the decoded labels after them
  std::int64_t valid_ = 0;          ///< labels of the last forward pass that were not ignored
};

class SoftmaxLossLayer final : public Layer {
 public:
  explicit SoftmaxLossLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, definition.softmax_param().engine() == caffe::SoftmaxParameter::CUDNN,
                "softmax_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_same_items(bottoms);
    const ClassAxis axis = class_axis(bottoms[0]);
    require_labels(bottoms, axis);
    Inference inference;
    inference.tops = {Shape{}};
    if (definition().top_size() > 1) inference.tops.push_back(bottoms[0]);
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    std::vector<LayoutChoice> choices = {plain_choice(request)};
    const Shape& scores = request.bottoms[0];
    const Layout last = channels_last(scores);
    if (axis_of(scores, parameter().axis(), "softmax_param.axis") == 1 && !last.is_plain()) {
      choices.push_back(choices[0]);
      choices[1].bottoms[0] = last;
      if (request.tops.size() > 1) choices[1].tops[1] = last;
    }
    return choices;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SoftmaxLossOp>(request, class_axis(request.bottoms[0]),
                                           definition().loss_param());
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int top) const override { return top == 1; }
  bool differentiable(int bottom) const override { return bottom == 0; }
  float default_loss_weight() const override { return 1; }
  int anonymous_tops() const override { return 1; }

 private:
  const caffe::SoftmaxParameter& parameter() const { return definition().softmax_param(); }
  ClassAxis class_axis(const Shape& scores) const {
    return ClassAxis::of(scores, parameter().axis(), "softmax_param.axis");
  }
};

}  // namespace

std::unique_ptr<Layer> make_softmax_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<SoftmaxLossLayer>(definition);
}

}  // namespace crema
