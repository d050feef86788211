// Accuracy (2 bottoms: scores and labels; 1 to 2 tops: the share of correct items and, if wanted,
// that share for each class).
//
// Scores: outer x classes x inner, classes at `axis`; labels: outer * inner of them. A position is
// correct when fewer than top_k of the other classes have a score that is not below the label's:
// ties count against the label, and a NaN is never correct. Positions with ignore_label do not
// count; with none counted the accuracy is 0. A class without an item has 0. No gradient.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "layers/class_axis.h"
#include "layers/loss.h"

namespace crema {
namespace {

class AccuracyOp final : public Op {
 public:
  AccuracyOp(const ClassAxis& axis, const caffe::AccuracyParameter& p)
      : axis_(axis),
        top_k_(p.top_k()),
        counted_(static_cast<std::size_t>(axis.classes)),
        correct_(counted_) {
    if (p.has_ignore_label()) ignored_ = p.ignore_label();
  }

  void forward(const RunContext& run) override {
    const Labels labels(run, axis_.classes, ignored_);
    const float* scores = run.bottoms[0].read();
    std::ranges::fill(counted_, 0);
    std::ranges::fill(correct_, 0);
    for (std::int64_t o = 0; o < axis_.outer; ++o) {
      for (std::int64_t i = 0; i < axis_.inner; ++i) {
        const int label = labels.at(o * axis_.inner + i);
        if (label == Labels::kIgnored) continue;
        const auto index = static_cast<std::size_t>(label);
        ++counted_[index];
        correct_[index] += is_correct(scores + o * axis_.classes * axis_.inner + i, label);
      }
    }
    for (std::size_t c = 0; run.tops.size() > 1 && c < correct_.size(); ++c) {
      run.tops[1].write()[c] = share(correct_[c], counted_[c]);
    }
    run.tops[0].write()[0] = share(sum(correct_), sum(counted_));
  }

  std::vector<double> mean_over(int top) const override {
    if (top > 0) return {counted_.begin(), counted_.end()};
    return {static_cast<double>(sum(counted_))};
  }

 private:
  bool is_correct(const float* scores, int label) const {
    const float score = scores[label * axis_.inner];
    if (std::isnan(score)) return false;
    std::int64_t not_below = 0;
    for (std::int64_t c = 0; c < axis_.classes; ++c) {
      not_below += c != label && !(scores[c * axis_.inner] < score);
    }
    return not_below < top_k_;
  }
  static std::int64_t sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }
  static float share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0f
                      : static_cast<float>(static_cast<double>(part) / static_cast<double>(whole));
  }

  ClassAxis axis_;
  std::int64_t top_k_;
  std::optional<int> ignored_;
  /// Items of each class in the last pass, and how many of them were correct.
  std::vector<std::int64_t> counted_, correct_;
};

class AccuracyLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const ClassAxis axis = class_axis(bottoms[0]);
    require_labels(bottoms, axis);
    require(parameter().top_k() >= 1 && parameter().top_k() <= axis.classes,
            "accuracy_param.top_k {} is not in 1..{}, the number of classes", parameter().top_k(),
            axis.classes);
    Inference inference;
    inference.tops = {Shape{}};
    if (definition().top_size() > 1) inference.tops.push_back({axis.classes});
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<AccuracyOp>(class_axis(request.bottoms[0]), parameter());
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool differentiable(int) const override { return false; }

 private:
  const caffe::AccuracyParameter& parameter() const { return definition().accuracy_param(); }
  ClassAxis class_axis(const Shape& scores) const {
    return ClassAxis::of(scores, parameter().axis(), "accuracy_param.axis");
  }
};

}  // namespace

std::unique_ptr<Layer> make_accuracy(const caffe::LayerParameter& definition) {
  return std::make_unique<AccuracyLayer>(definition);
}

}  // namespace crema
