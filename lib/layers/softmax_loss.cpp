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

#include "kernels/parallel_for.h"
#include "layers/softmax_labels.h"

namespace crema {
namespace {

constexpr const char* kAxis = "softmax_param.axis";

class SoftmaxLossOp final : public SoftmaxLabelsOp {
 public:
  using SoftmaxLabelsOp::SoftmaxLabelsOp;

  void forward(const RunContext& run) override {
    forward_labels(run);
    const float* const p = probabilities(run);
    const std::int32_t* const label_of = classes(run);
    const std::int64_t inner = memory().inner, block = memory().classes * inner;
    double sum = 0;
    for (std::int64_t o = 0; o < memory().outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        const int label = label_of[o * inner + i];
        if (label == Labels::kIgnored) continue;
        const float probability = p[o * block + label * inner + i];
        // Written so that NaN stays NaN.
        sum -= std::log(static_cast<double>(probability < FLT_MIN ? FLT_MIN : probability));
      }
    }
    run.tops[0].write()[0] = static_cast<float>(sum / divisor());
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    const float scale = gradient_scale(run);
    const float* const p = probabilities(run);
    const std::int32_t* const label_of = classes(run);
    float* const dx = gradient.write();
    const std::int64_t count = memory().classes, inner = memory().inner, block = count * inner;
    parallel_ranges(run.device, memory().outer, block, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * block; i < end * block; ++i) dx[i] = scale * p[i];
      for (std::int64_t o = begin; o < end; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          const int label = label_of[o * inner + i];
          float* const column = dx + o * block + i;
          if (label != Labels::kIgnored) {
            column[label * inner] -= scale;
          } else {
            for (std::int64_t c = 0; c < count; ++c) column[c * inner] = 0;
          }
        }
      }
    });
  }
};

class SoftmaxLossLayer final : public LossLayer {
 public:
  explicit SoftmaxLossLayer(const caffe::LayerParameter& definition) : LossLayer(definition) {
    note_engine(*this, definition.softmax_param().engine() == caffe::SoftmaxParameter::CUDNN,
                "softmax_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    return infer_softmax_labels(*this, bottoms, axis(), kAxis);
  }
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return softmax_labels_layouts(request, axis(), kAxis);
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SoftmaxLossOp>(
        request, ClassAxis::of(request.bottoms[0], axis(), kAxis), definition().loss_param());
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int top) const override { return top == 1; }

 private:
  int axis() const { return definition().softmax_param().axis(); }
};

}  // namespace

std::unique_ptr<Layer> make_softmax_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<SoftmaxLossLayer>(definition);
}

}  // namespace crema
