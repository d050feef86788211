// ContrastiveLoss (3 bottoms: features a and b, flags y; 1 top): similar pairs are drawn together,
// others pushed apart up to a margin.
//
//   d^2 = |a - b|^2 for each pair
//
//   loss = 1/(2N) * sum over pairs of d^2 (similar: y is not 0 when cut to an integer),
//          else max(margin - d, 0)^2; with legacy_version max(margin - d^2, 0)
//
//   da = L/N * (a - b) (similar), else -L/N * (margin - d) / (d + 1e-4) * (a - b) where d < margin;
//        with legacy_version -L/N * (a - b) where d^2 < margin; 0 beyond. db = -da
//
// a and b: N x C (then only axes of size 1); y: N. L is the gradient of the loss. Hadsell et al.,
// "Dimensionality reduction by learning an invariant mapping", 2006.
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/loss.h"

namespace crema {
namespace {

class ContrastiveLossOp final : public Op {
 public:
  ContrastiveLossOp(const Shape& features, const caffe::ContrastiveLossParameter& parameter)
      : pairs_(features[0]),
        width_(features.count_from(1)),
        divisor_(items_of(features)),
        margin_(static_cast<double>(parameter.margin())),
        legacy_(parameter.legacy_version()) {}

  void forward(const RunContext& run) override {
    const float* const a = run.bottoms[0].read();
    const float* const b = run.bottoms[1].read();
    const float* const y = run.bottoms[2].read();
    double sum = 0;
    for (std::int64_t i = 0; i < pairs_; ++i) {
      const double square = distance_square(a + i * width_, b + i * width_);
      if (is_similar(y[i])) {
        sum += square;
      } else if (legacy_) {
        sum += positive(margin_ - square);
      } else {
        const double gap = positive(margin_ - std::sqrt(square));
        sum += gap * gap;
      }
    }
    run.tops[0].write()[0] = static_cast<float>(sum / (2 * divisor_));
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      for (const Tensor& gradient : run.bottom_gradients) {
        if (gradient) gradient.fill_zero();
      }
      return;
    }
    const double scale = static_cast<double>(run.top_gradients[0].read()[0]) / divisor_;
    const float* const a = run.bottoms[0].read();
    const float* const b = run.bottoms[1].read();
    const float* const y = run.bottoms[2].read();
    float* const da = run.bottom_gradients[0] ? run.bottom_gradients[0].write() : nullptr;
    float* const db = run.bottom_gradients[1] ? run.bottom_gradients[1].write() : nullptr;
    parallel_ranges(
        run.device, pairs_, 3 * width_, [=, this](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i * width_;
            const auto factor = static_cast<float>(
                scale * (is_similar(y[i]) ? 1 : push(distance_square(a + first, b + first))));
            for (std::int64_t j = first; j < first + width_; ++j) {
              const float pull = factor * (a[j] - b[j]);
              if (da != nullptr) da[j] = pull;
              if (db != nullptr) db[j] = -pull;
            }
          }
        });
  }

 private:
  static bool is_similar(float flag) { return !is_label(flag, 0); }
  /// Written so that NaN stays NaN.
  static double positive(double value) { return value < 0 ? 0 : value; }

  double distance_square(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t j = 0; j < width_; ++j) {
      const double difference = static_cast<double>(a[j] - b[j]);
      sum += difference * difference;
    }
    return sum;
  }
  /// What a - b is multiplied by for a pair that is not similar.
  double push(double square) const {
    if (legacy_) return square < margin_ ? -1 : 0;
    // Caffe's constant keeps the division finite for equal features.
    const double distance = std::sqrt(square);
    return -positive(margin_ - distance) / (distance + 1e-4);
  }

  std::int64_t pairs_, width_;
  double divisor_, margin_;
  bool legacy_;
};

class ContrastiveLossLayer final : public LossLayer {
 public:
  using LossLayer::LossLayer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require_same_items(bottoms);
    for (std::size_t i = 0; i < 2; ++i) {
      require(bottoms[i].axes() < 3 || bottoms[i].count_from(2) == 1,
              "bottom {} must hold one vector an item (N x C), all further axes of size 1, not {}",
              i, bottoms[i].str());
    }
    require(bottoms[0].count_from(1) == bottoms[1].count_from(1),
            "both vectors must have the same length: bottom 0 is {}, bottom 1 is {}",
            bottoms[0].str(), bottoms[1].str());
    require(bottoms[2].count() == bottoms[0][0],
            "bottom 2 must hold one flag for each of the {} pairs, not {} ({})", bottoms[0][0],
            bottoms[2].count(), bottoms[2].str());
    Inference inference;
    inference.tops = {Shape{}};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<ContrastiveLossOp>(request.bottoms[0],
                                               definition().contrastive_loss_param());
  }
  bool differentiable(int bottom) const override { return bottom < 2; }
};

}  // namespace

std::unique_ptr<Layer> make_contrastive_loss(const caffe::LayerParameter& definition) {
  return std::make_unique<ContrastiveLossLayer>(definition);
}

}  // namespace crema
