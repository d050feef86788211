// PriorBox (2 bottoms: a feature map and the image; 1 top, 1 x 2 x 4 B), of SSD (Liu et al., "SSD:
// Single Shot MultiBox Detector", ECCV 2016): B boxes of fixed sizes and forms around each position
// of the map.
//
// Row 0 holds the corners of the boxes (xmin, ymin, xmax, ymax, as parts of the image's size), row
// 1 their variances. At position (h, w) the centre is ((w + offset) step_w, (h + offset) step_h)
// pixels, and each min_size s gives a square of side s, then with a max_size m a square of side
// sqrt(s m), then for each aspect ratio r but 1 a box of s sqrt(r) x s / sqrt(r). The top depends
// on shapes alone; no gradients.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "layers/fields.h"
#include "layers/layer.h"

namespace crema {
namespace {

struct Sides {
  float width, height;
};

class PriorBoxOp final : public Op {
 public:
  explicit PriorBoxOp(std::vector<float> top) : top_(std::move(top)) {}
  void forward(const RunContext& run) override {
    if (!top_.empty()) run.tops[0].copy_from_host(top_.data());
  }

 private:
  std::vector<float> top_;
};

class PriorBoxLayer final : public Layer {
 public:
  explicit PriorBoxLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    check_sizes();
    check_variance();
    check_image_and_step();
    const std::vector<float> ratios = aspect_ratios();
    for (int i = 0; i < parameter().min_size_size(); ++i) {
      const float side = parameter().min_size(i);
      boxes_.push_back({side, side});
      if (parameter().max_size_size() > 0) {
        const float between = std::sqrt(side * parameter().max_size(i));
        boxes_.push_back({between, between});
      }
      for (const float ratio : ratios) {
        boxes_.push_back({side * std::sqrt(ratio), side / std::sqrt(ratio)});
      }
    }
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    for (int i = 0; i < 2; ++i) {
      const Shape& bottom = bottoms[static_cast<std::size_t>(i)];
      require(bottom.axes() == 4, "bottom {} must be N x C x H x W, but is {}", i, bottom.str());
    }
    const std::int64_t positions = bottoms[0].count_from(2);
    const auto boxes = static_cast<std::int64_t>(boxes_.size());
    Inference inference;
    inference.tops = {Shape({1, 2, work_of({positions, boxes, 4})})};
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<PriorBoxOp>(values(request.bottoms[0], request.bottoms[1]));
  }
  bool differentiable(int) const override { return false; }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return false; }

 private:
  const caffe::PriorBoxParameter& parameter() const { return definition().prior_box_param(); }

  void check_sizes() const {
    const int sizes = parameter().min_size_size(), max_sizes = parameter().max_size_size();
    require(sizes > 0, "prior_box_param.min_size is missing: give the side of at least one box");
    require(max_sizes == 0 || max_sizes == sizes,
            "prior_box_param.max_size is given {} times for {} of min_size; give none, or one for "
            "each",
            max_sizes, sizes);
    for (int i = 0; i < sizes; ++i) {
      const float min_size = parameter().min_size(i);
      require(min_size > 0, "prior_box_param.min_size {} must be greater than 0", min_size);
      require(max_sizes == 0 || parameter().max_size(i) > min_size,
              "prior_box_param.max_size {} must be greater than its min_size {}",
              max_sizes == 0 ? 0 : parameter().max_size(i), min_size);
    }
    for (const float ratio : parameter().aspect_ratio()) {
      require(ratio > 0, "prior_box_param.aspect_ratio {} must be greater than 0", ratio);
    }
  }

  void check_variance() const {
    const int count = parameter().variance_size();
    require(count == 0 || count == 1 || count == 4,
            "prior_box_param.variance is given {} times; give one for all coordinates, or four",
            count);
    for (const float variance : parameter().variance()) {
      require(variance > 0, "prior_box_param.variance {} must be greater than 0", variance);
    }
  }

  void check_image_and_step() const {
    const auto& p = parameter();
    require(!p.has_img_size() || !(p.has_img_h() || p.has_img_w()),
            "prior_box_param.img_size is given together with img_h or img_w; give one or the "
            "other");
    require(p.has_img_h() == p.has_img_w(),
            "prior_box_param.img_h and img_w go together; only one is given");
    require(!p.has_img_size() || p.img_size() > 0, "prior_box_param.img_size is 0");
    require(!p.has_img_h() || (p.img_h() > 0 && p.img_w() > 0),
            "prior_box_param.img_h and img_w must be greater than 0, not {} and {}", p.img_h(),
            p.img_w());
    require(!p.has_step() || !(p.has_step_h() || p.has_step_w()),
            "prior_box_param.step is given together with step_h or step_w; give one or the other");
    require(p.has_step_h() == p.has_step_w(),
            "prior_box_param.step_h and step_w go together; only one is given");
    require(!p.has_step() || p.step() > 0, "prior_box_param.step {} must be greater than 0",
            p.step());
    require(!p.has_step_h() || (p.step_h() > 0 && p.step_w() > 0),
            "prior_box_param.step_h and step_w must be greater than 0, not {} and {}", p.step_h(),
            p.step_w());
  }

  /// Those besides 1, without repetitions.
  std::vector<float> aspect_ratios() const {
    std::vector<float> ratios = {1};
    for (const float ratio : parameter().aspect_ratio()) {
      const bool known = std::any_of(ratios.begin(), ratios.end(),
                                     [&](float r) { return std::abs(r - ratio) < 1e-6F; });
      if (known) continue;
      ratios.push_back(ratio);
      if (parameter().flip()) ratios.push_back(1 / ratio);
    }
    ratios.erase(ratios.begin());
    return ratios;
  }

  /// Width and height of the image in pixels.
  Sides image_of(const Shape& image) const {
    const auto& p = parameter();
    if (p.has_img_size())
      return {static_cast<float>(p.img_size()), static_cast<float>(p.img_size())};
    if (p.has_img_h()) return {static_cast<float>(p.img_w()), static_cast<float>(p.img_h())};
    return {static_cast<float>(image[3]), static_cast<float>(image[2])};
  }

  std::vector<float> values(const Shape& map, const Shape& image_shape) const {
    const auto& p = parameter();
    const Sides image = image_of(image_shape);
    Sides step = {image.width / static_cast<float>(map[3]),
                  image.height / static_cast<float>(map[2])};
    if (p.has_step()) step = {p.step(), p.step()};
    if (p.has_step_h()) step = {p.step_w(), p.step_h()};
    std::vector<float> values;
    const auto add = [&](float value) {
      values.push_back(p.clip() ? std::clamp<float>(value, 0.0F, 1.0F) : value);
    };
    for (std::int64_t h = 0; h < map[2]; ++h) {
      for (std::int64_t w = 0; w < map[3]; ++w) {
        const float x = (static_cast<float>(w) + p.offset()) * step.width;
        const float y = (static_cast<float>(h) + p.offset()) * step.height;
        for (const Sides& box : boxes_) {
          add((x - box.width / 2) / image.width);
          add((y - box.height / 2) / image.height);
          add((x + box.width / 2) / image.width);
          add((y + box.height / 2) / image.height);
        }
      }
    }
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) values.push_back(variance(static_cast<int>(i % 4)));
    return values;
  }

  float variance(int coordinate) const {
    const int count = parameter().variance_size();
    return count == 0 ? 0.1F : parameter().variance(count == 1 ? 0 : coordinate);
  }

  std::vector<Sides> boxes_;  ///< at each position
};

}  // namespace

std::unique_ptr<Layer> make_prior_box(const caffe::LayerParameter& definition) {
  return std::make_unique<PriorBoxLayer>(definition);
}

}  // namespace crema
