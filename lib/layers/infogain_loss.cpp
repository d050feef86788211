// InfogainLoss (2 to 3 bottoms: scores, labels and, if wanted, the matrix H; 1 to 2 tops: the loss
// and, if wanted, the probabilities): a softmax loss in which each confusion has its own weight.
//
//   p = softmax(x) along `axis`
//
//   loss = -1/Z * sum over positions and classes k of H[label,k] * log(max(p[k], 1e-20))
//
//   dx[k] = L/Z * (p[k] * sum over j of H[label,j] - H[label,k]), 0 where the label is ignored; L
//   is
//           the gradient of the loss
//
// Scores: outer x K x inner. Labels: outer * inner of them, in any shape, with the same axis 0,
// checked. H: K*K values in any shape, from bottom 2 or else from the BlobProto file `source`. Z as
// in SoftmaxWithLoss, by loss_param.normalization only. H and the second top get and give no
// gradient.
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/softmax_labels.h"
#include "proto/blobs.h"
#include "proto/io.h"

namespace crema {
namespace {

constexpr const char* kAxis = "infogain_loss_param.axis";

class InfogainLossOp final : public SoftmaxLabelsOp {
 public:
  /// `matrix` (from the file) is empty where bottom 2 has it.
  InfogainLossOp(const PlanRequest& request, const ClassAxis& axis,
                 const caffe::LossParameter& loss, std::vector<float> matrix)
      : SoftmaxLabelsOp(request, axis, loss),
        matrix_(std::move(matrix)),
        row_sums_(static_cast<std::size_t>(axis.classes)) {}

  void forward(const RunContext& run) override {
    forward_labels(run);
    const float* const p = probabilities(run);
    const float* const h = matrix(run);
    double sum = 0;
    for_each_position(run, [&](std::int64_t first, int label) {
      if (label == Labels::kIgnored) return;
      const float* const weights = h + label * memory().classes;
      for (std::int64_t k = 0; k < memory().classes; ++k) {
        const float probability = p[first + k * memory().inner];
        // Written so that NaN stays NaN.
        sum -= static_cast<double>(weights[k]) *
               std::log(static_cast<double>(probability < 1e-20f ? 1e-20f : probability));
      }
    });
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
    const float* const h = matrix(run);
    const std::int64_t classes = memory().classes, inner = memory().inner;
    for (std::int64_t row = 0; row < classes; ++row) {
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += static_cast<double>(h[row * classes + k]);
      row_sums_[static_cast<std::size_t>(row)] = static_cast<float>(sum);
    }
    float* const dx = gradient.write();
    for_each_position(run, [&](std::int64_t first, int label) {
      if (label == Labels::kIgnored) {
        for (std::int64_t k = 0; k < classes; ++k) dx[first + k * inner] = 0;
        return;
      }
      const float* const weights = h + label * classes;
      const float total = row_sums_[static_cast<std::size_t>(label)];
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t at = first + k * inner;
        dx[at] = scale * (p[at] * total - weights[k]);
      }
    });
  }

 private:
  const float* matrix(const RunContext& run) const {
    return run.bottoms.size() > 2 ? run.bottoms[2].read() : matrix_.data();
  }
  /// Calls body with the place of the first class and the label.
  template <class Body>
  void for_each_position(const RunContext& run, const Body& body) const {
    const std::int32_t* const label_of = classes(run);
    const std::int64_t inner = memory().inner, block = memory().classes * inner;
    for (std::int64_t o = 0; o < memory().outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) body(o * block + i, label_of[o * inner + i]);
    }
  }

  std::vector<float> matrix_, row_sums_;
};

class InfogainLossLayer final : public LossLayer {
 public:
  explicit InfogainLossLayer(const caffe::LayerParameter& definition) : LossLayer(definition) {
    require(!definition.loss_param().has_normalize(),
            "loss_param.normalize is not for InfogainLoss; use loss_param.normalization");
    if (definition.bottom_size() > 2) return;
    const std::string& source = definition.infogain_loss_param().source();
    require(!source.empty(),
            "infogain_loss_param.source is missing: the matrix H comes from that file or from a "
            "third bottom");
    with_context("infogain_loss_param.source", [&] {
      caffe::BlobProto blob;
      read_binary(source, &blob);
      with_context(source, [&] { matrix_ = values(blob); });
    });
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference = infer_softmax_labels(*this, bottoms, axis(), kAxis);
    const std::int64_t classes = ClassAxis::of(bottoms[0], axis(), kAxis).classes;
    const std::int64_t given =
        bottoms.size() > 2 ? bottoms[2].count() : static_cast<std::int64_t>(matrix_.size());
    require(given == work_of({classes, classes}),
            "the matrix H ({}) must hold {} x {} values, a row for each class, not {}",
            bottoms.size() > 2 ? "bottom 2" : definition().infogain_loss_param().source(), classes,
            classes, given);
    return inference;
  }
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return softmax_labels_layouts(request, axis(), kAxis);
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<InfogainLossOp>(request,
                                            ClassAxis::of(request.bottoms[0], axis(), kAxis),
                                            definition().loss_param(), matrix_);
  }
  bool backward_reads_bottom(int bottom) const override { return bottom == 2; }
  bool backward_reads_top(int top) const override { return top == 1; }

 private:
  int axis() const { return definition().infogain_loss_param().axis(); }

  std::vector<float> matrix_;  ///< from the file
};

}  // namespace

std::unique_ptr<Layer> make_infogain_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<InfogainLossLayer>(definition);
}

}  // namespace crema
