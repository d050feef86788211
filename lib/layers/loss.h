// What loss layers have in common: reading labels, and by what a loss is divided.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "caffe.pb.h"
#include "layers/layer.h"

namespace crema {

/// A layer whose first top is part of what training minimises, by bottom 0.
class LossLayer : public Layer {
 public:
  using Layer::Layer;

  bool differentiable(int bottom) const override { return bottom == 0; }
  float default_loss_weight() const final { return 1; }
  int anonymous_tops() const final { return 1; }
};

using NormalizationMode = caffe::LossParameter::NormalizationMode;

/// `normalization` if given, else what the older `normalize` means (true VALID, false BATCH_SIZE),
/// else the layer's default.
NormalizationMode normalization_mode(const caffe::LossParameter& loss, NormalizationMode otherwise);

/// FULL: outer * inner, VALID: the entries that were not ignored, BATCH_SIZE: outer, NONE: 1.
/// At least 1, so that a batch in which everything is ignored has loss 0 and not NaN.
double normalizer(NormalizationMode mode, std::int64_t outer, std::int64_t inner,
                  std::int64_t valid);

/// What that divides by as Op::mean_over() has it, without the "at least 1": nothing for NONE,
/// whose loss is a sum.
std::vector<double> normalized_over(NormalizationMode mode, std::int64_t outer, std::int64_t inner,
                                    std::int64_t valid);

/// Bottoms 0 and 1 hold the same number of items (axis 0).
void require_same_items(const std::vector<Shape>& bottoms);
/// That, and bottom 1 holds nothing but one label an item.
void require_item_labels(const std::vector<Shape>& bottoms);
/// The number of items to divide by: at least 1, so that an empty batch has loss 0.
double items_of(const Shape& bottom);

/// Whether a value, cut to an integer as Caffe does, is `label`.
inline bool is_label(float value, int label) {
  return value > -0x1p31f && value < 0x1p31f && static_cast<int>(value) == label;
}

/// The bottom that holds labels, read as Caffe does (cut to integers towards zero) but checked.
class Labels {
 public:
  static constexpr int kIgnored = -1;

  /// Bottom 1 of `run`, its items along axis 0; they name classes 0 .. classes-1.
  Labels(const RunContext& run, std::int64_t classes, std::optional<int> ignored = std::nullopt)
      : run_(run), values_(run.bottoms[1].read()), classes_(classes), ignored_(ignored) {}

  /// The class, or kIgnored. A label that is neither is a user error that names item and record.
  int at(std::int64_t index) const {
    const float value = values_[index];
    if (ignored_ && is_label(value, *ignored_)) return kIgnored;
    if (value > -1 && value < static_cast<float>(classes_)) return static_cast<int>(value);
    refuse(index);
  }

 private:
  [[noreturn]] void refuse(std::int64_t index) const;

  const RunContext& run_;
  const float* values_;
  std::int64_t classes_;
  std::optional<int> ignored_;
};

}  // namespace crema
