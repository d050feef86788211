// DetectionOutput (3 bottoms: offsets, scores, prior boxes; 1 top, 1 x 1 x K x 7), of SSD (Liu et
// al., "SSD: Single Shot MultiBox Detector", ECCV 2016): what was found in each image.
//
// Offsets are N x (prior, class or one for all, 4), scores N x (prior, class), prior boxes 1 x 2 x
// (prior, 4) as PriorBox gives them. For each image and class but the background, the boxes with a
// score above the threshold are gone through from the best on, and one stays unless it overlaps
// too much with one that stayed before (non-maximum suppression); the best of all classes are kept.
// A row is: image, class, score, xmin, ymin, xmax, ymax; rows are ordered by image, class, falling
// score. Where nothing is found at all there is one row an image, of its number and -1. No
// gradients. All is done on the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "layers/layer.h"

namespace crema {
namespace {

using caffe::PriorBoxParameter;

constexpr std::int64_t kRow = 7;

struct Box {
  float xmin, ymin, xmax, ymax;

  float width() const { return xmax - xmin; }
  float height() const { return ymax - ymin; }
  float area() const { return width() < 0 || height() < 0 ? 0 : width() * height(); }
};

/// Intersection / union.
float overlap(const Box& a, const Box& b) {
  const Box common = {std::max(a.xmin, b.xmin), std::max(a.ymin, b.ymin), std::min(a.xmax, b.xmax),
                      std::min(a.ymax, b.ymax)};
  if (!(common.width() > 0 && common.height() > 0)) return 0;
  return common.area() / (a.area() + b.area() - common.area());
}

/// The box that the offsets `d` from `prior` mean.
Box decode(const Box& prior, const float* d, PriorBoxParameter::CodeType type) {
  const float width = prior.width(), height = prior.height();
  switch (type) {
    case PriorBoxParameter::CORNER:
      return {prior.xmin + d[0], prior.ymin + d[1], prior.xmax + d[2], prior.ymax + d[3]};
    case PriorBoxParameter::CORNER_SIZE:
      return {prior.xmin + d[0] * width, prior.ymin + d[1] * height, prior.xmax + d[2] * width,
              prior.ymax + d[3] * height};
    default: {
      const float x = (prior.xmin + prior.xmax) / 2 + d[0] * width;
      const float y = (prior.ymin + prior.ymax) / 2 + d[1] * height;
      const float half_width = std::exp(d[2]) * width / 2;
      const float half_height = std::exp(d[3]) * height / 2;
      return {x - half_width, y - half_height, x + half_width, y + half_height};
    }
  }
}

std::vector<float> on_host(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  if (!values.empty()) tensor.copy_to_host(values.data());
  return values;
}

struct Detection {
  std::int64_t image, label;
  float score;
  Box box;
};

/// From three bottoms to rows.
class Detector {
 public:
  explicit Detector(const caffe::DetectionOutputParameter& parameter) : parameter_(parameter) {}

  std::vector<float> rows(const std::vector<Tensor>& bottoms) const {
    const Shape& shape = bottoms[0].shape();
    const std::int64_t images = shape[0];
    const std::int64_t priors = bottoms[2].shape().count_from(2) / 4;
    const std::vector<float> offsets = on_host(bottoms[0]), scores = on_host(bottoms[1]);
    const std::vector<float> prior_values = on_host(bottoms[2]);
    std::vector<float> rows;
    for (std::int64_t image = 0; image < images; ++image) {
      std::vector<Detection> found;
      for (std::int64_t label = 0; label < classes(); ++label) {
        if (label == parameter_.background_label_id()) continue;
        find(image, label, priors, offsets.data() + image * shape.count_from(1),
             scores.data() + image * priors * classes(), prior_values.data(), &found);
      }
      keep_best(&found);
      for (const Detection& d : found) {
        for (const float value : {static_cast<float>(d.image), static_cast<float>(d.label), d.score,
                                  d.box.xmin, d.box.ymin, d.box.xmax, d.box.ymax}) {
          rows.push_back(value);
        }
      }
    }
    if (!rows.empty()) return rows;
    for (std::int64_t image = 0; image < images; ++image) {
      rows.push_back(static_cast<float>(image));
      rows.insert(rows.end(), kRow - 1, -1.0F);
    }
    return rows;
  }

 private:
  std::int64_t classes() const { return parameter_.num_classes(); }

  Box box_of(std::int64_t prior, std::int64_t label, std::int64_t priors, const float* offsets,
             const float* prior_values) const {
    const bool shared = parameter_.share_location();
    const float* const d = offsets + (shared ? prior : prior * classes() + label) * 4;
    const float* const corners = prior_values + prior * 4;
    const float* const variance = prior_values + (priors + prior) * 4;
    float scaled[4];
    for (int i = 0; i < 4; ++i) {
      scaled[i] = parameter_.variance_encoded_in_target() ? d[i] : d[i] * variance[i];
    }
    return decode({corners[0], corners[1], corners[2], corners[3]}, scaled, parameter_.code_type());
  }

  /// Adds the boxes of one class that stay, the best first.
  void find(std::int64_t image, std::int64_t label, std::int64_t priors, const float* offsets,
            const float* scores, const float* prior_values, std::vector<Detection>* found) const {
    const auto score = [&](std::int64_t prior) { return scores[prior * classes() + label]; };
    std::vector<std::int64_t> candidates;
    for (std::int64_t prior = 0; prior < priors; ++prior) {
      if (!parameter_.has_confidence_threshold() ||
          score(prior) > parameter_.confidence_threshold()) {
        candidates.push_back(prior);
      }
    }
    // A NaN is worse than all else.
    const auto better = [&](std::int64_t a, std::int64_t b) {
      return score(a) > score(b) || (std::isnan(score(b)) && !std::isnan(score(a)));
    };
    std::stable_sort(candidates.begin(), candidates.end(), better);
    const caffe::NonMaximumSuppressionParameter& nms = parameter_.nms_param();
    if (nms.has_top_k() && nms.top_k() >= 0 &&
        candidates.size() > static_cast<std::size_t>(nms.top_k())) {
      candidates.resize(static_cast<std::size_t>(nms.top_k()));
    }
    float threshold = nms.nms_threshold();
    const auto first = static_cast<std::ptrdiff_t>(found->size());
    for (const std::int64_t prior : candidates) {
      const Box box = box_of(prior, label, priors, offsets, prior_values);
      const bool stays =
          std::none_of(found->begin() + first, found->end(),
                       [&](const Detection& kept) { return overlap(box, kept.box) > threshold; });
      if (!stays) continue;
      found->push_back({image, label, score(prior), box});
      if (nms.eta() < 1 && threshold > 0.5F) threshold *= nms.eta();
    }
  }

  /// The keep_top_k best of an image, in the order that they have.
  void keep_best(std::vector<Detection>* found) const {
    const std::int32_t most = parameter_.keep_top_k();
    if (most < 0 || found->size() <= static_cast<std::size_t>(most)) return;
    std::stable_sort(found->begin(), found->end(), [](const Detection& a, const Detection& b) {
      return a.score > b.score || (std::isnan(b.score) && !std::isnan(a.score));
    });
    found->resize(static_cast<std::size_t>(most));
    std::stable_sort(found->begin(), found->end(),
                     [](const Detection& a, const Detection& b) { return a.label < b.label; });
  }

  const caffe::DetectionOutputParameter& parameter_;
};

class DetectionOutputOp final : public Op {
 public:
  explicit DetectionOutputOp(const caffe::DetectionOutputParameter& parameter)
      : parameter_(parameter) {}

  void forward(const RunContext& run) override {
    const std::vector<float> rows = Detector(parameter_).rows(run.bottoms);
    CREMA_ASSERT(static_cast<std::int64_t>(rows.size()) == run.tops[0].elements());
    if (!rows.empty()) run.tops[0].copy_from_host(rows.data());
  }

 private:
  caffe::DetectionOutputParameter parameter_;
};

class DetectionOutputLayer final : public Layer {
 public:
  explicit DetectionOutputLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const auto& p = parameter();
    require(p.num_classes() > 0,
            "detection_output_param.num_classes must be given: the number of classes, with the "
            "background");
    require(p.keep_top_k() >= -1,
            "detection_output_param.keep_top_k {} must be at least 0, or -1 for all",
            p.keep_top_k());
    require(p.nms_param().top_k() >= -1,
            "detection_output_param.nms_param.top_k {} must be at least 0, or -1 for all",
            p.nms_param().top_k());
    require(p.nms_param().nms_threshold() >= 0,
            "detection_output_param.nms_param.nms_threshold {} must be at least 0",
            p.nms_param().nms_threshold());
    require(p.nms_param().eta() > 0 && p.nms_param().eta() <= 1,
            "detection_output_param.nms_param.eta {} must be above 0 and at most 1",
            p.nms_param().eta());
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape &offsets = bottoms[0], &scores = bottoms[1], &boxes = bottoms[2];
    require(boxes.axes() == 3 && boxes[0] == 1 && boxes[1] == 2 && boxes[2] % 4 == 0,
            "bottom 2 must hold prior boxes, 1 x 2 x 4 for each, but is {}", boxes.str());
    const std::int64_t priors = boxes[2] / 4, classes = parameter().num_classes();
    const std::int64_t boxes_of_prior = parameter().share_location() ? 1 : classes;
    require(offsets.axes() >= 2 && offsets.count_from(1) == priors * boxes_of_prior * 4,
            "bottom 0 must hold 4 offsets for each of {} prior boxes{}, {} an image, but is {}",
            priors, parameter().share_location() ? "" : " and each class",
            priors * boxes_of_prior * 4, offsets.str());
    require(
        scores.axes() >= 2 && scores[0] == offsets[0] && scores.count_from(1) == priors * classes,
        "bottom 1 must hold {} scores for each of {} prior boxes, {} for each of {} images, "
        "but is {}",
        classes, priors, priors * classes, offsets[0], scores.str());
    Inference inference;
    inference.tops = {Shape({1, 1, offsets[0] * most_of_an_image(priors), kRow})};
    return inference;
  }

  bool tops_depend_on_data() const override { return true; }
  std::vector<Shape> actual_tops(const std::vector<Tensor>& bottoms) const override {
    const std::vector<float> rows = Detector(parameter()).rows(bottoms);
    return {Shape({1, 1, static_cast<std::int64_t>(rows.size()) / kRow, kRow})};
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<DetectionOutputOp>(parameter());
  }
  bool differentiable(int) const override { return false; }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return false; }

 private:
  const caffe::DetectionOutputParameter& parameter() const {
    return definition().detection_output_param();
  }

  /// Rows of an image at most; one where nothing is found.
  std::int64_t most_of_an_image(std::int64_t priors) const {
    const auto& nms = parameter().nms_param();
    const std::int64_t classes = parameter().num_classes();
    const std::int64_t of_class =
        nms.has_top_k() && nms.top_k() >= 0 ? std::min<std::int64_t>(priors, nms.top_k()) : priors;
    std::int64_t most = classes * of_class;
    if (parameter().keep_top_k() >= 0)
      most = std::min<std::int64_t>(most, parameter().keep_top_k());
    return std::max<std::int64_t>(most, 1);
  }
};

}  // namespace

std::unique_ptr<Layer> make_detection_output(const caffe::LayerParameter& definition) {
  return std::make_unique<DetectionOutputLayer>(definition);
}

}  // namespace crema
