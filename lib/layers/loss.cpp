// Loss layers' arithmetic and errors that are the same in all of them. A label is refused here, out
// of the loop that reads it: the message looks up where in the data it came from.
#include "layers/loss.h"

#include <algorithm>

#include "base/error.h"
#include "layers/fields.h"

namespace crema {

NormalizationMode normalization_mode(const caffe::LossParameter& loss,
                                     NormalizationMode otherwise) {
  if (loss.has_normalization()) return loss.normalization();
  if (!loss.has_normalize()) return otherwise;
  return loss.normalize() ? caffe::LossParameter::VALID : caffe::LossParameter::BATCH_SIZE;
}

std::vector<double> normalized_over(NormalizationMode mode, std::int64_t outer, std::int64_t inner,
                                    std::int64_t valid) {
  switch (mode) {
    case caffe::LossParameter::FULL:
      return {static_cast<double>(outer * inner)};
    case caffe::LossParameter::VALID:
      return {static_cast<double>(valid)};
    case caffe::LossParameter::BATCH_SIZE:
      return {static_cast<double>(outer)};
    case caffe::LossParameter::NONE:
      break;
  }
  return {};
}

double normalizer(NormalizationMode mode, std::int64_t outer, std::int64_t inner,
                  std::int64_t valid) {
  const std::vector<double> over = normalized_over(mode, outer, inner, valid);
  return over.empty() ? 1 : std::max(over[0], 1.0);
}

void require_same_items(const std::vector<Shape>& bottoms) {
  for (int i = 0; i < 2; ++i) {
    require(bottoms[static_cast<std::size_t>(i)].axes() > 0,
            "bottom {} is a scalar; a loss needs items along axis 0", i);
  }
  require(
      bottoms[0][0] == bottoms[1][0],
      "both bottoms must have the same number of items (axis 0): bottom 0 is {}, bottom 1 is {}",
      bottoms[0].str(), bottoms[1].str());
}

void require_item_labels(const std::vector<Shape>& bottoms) {
  require_same_items(bottoms);
  require(bottoms[1].count_from(1) == 1,
          "bottom 1 must hold one label for each of the {} items of bottom 0 ({}), not {} ({})",
          bottoms[0][0], bottoms[0].str(), bottoms[1].count(), bottoms[1].str());
}

double items_of(const Shape& bottom) {
  return static_cast<double>(std::max<std::int64_t>(bottom[0], 1));
}

void Labels::refuse(std::int64_t index) const {
  fail("label {:g} of {} is not in 0..{} (labels start at 0)", values_[index],
       place_of(run_, 1, index), classes_ - 1);
}

}  // namespace crema
