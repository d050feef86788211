// Slice (1 bottom, n >= 1 tops): the bottom cut along `axis` (or the older slice_dim), the reverse
// of Concat.
//
// Cuts are at the n - 1 slice_points, or where they make n equal parts. Along items and channels
// (axes 0 and 1) it also works channels-last. A single top is the bottom.
#include "base/error.h"
#include "layers/fields.h"
#include "layers/parts.h"

namespace crema {
namespace {

class SliceOp final : public Op {
 public:
  explicit SliceOp(Parts parts) : parts_(std::move(parts)) {}

  void forward(const RunContext& run) override { parts_.cut(run.device, run.bottoms[0], run.tops); }
  void backward(const RunContext& run) override {
    parts_.join(run.device, run.top_gradients, run.bottom_gradients[0]);
  }

 private:
  Parts parts_;
};

class SliceLayer final : public Layer {
 public:
  explicit SliceLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(!parameter().has_axis() || !parameter().has_slice_dim(),
            "slice_param.axis is given together with slice_dim, its older name; give one only");
    const int points = parameter().slice_point_size();
    require(points == 0 || points == tops() - 1,
            "slice_param.slice_point is given {} times for {} tops; give {}, or none for equal "
            "parts",
            points, tops(), tops() - 1);
    for (int i = 0; i < points; ++i) {
      const std::uint32_t before = i > 0 ? parameter().slice_point(i - 1) : 0;
      require(parameter().slice_point(i) > before,
              "slice_param.slice_point {} must be greater than {}: points begin above 0 and "
              "increase",
              parameter().slice_point(i), before);
    }
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    const int axis = this->axis(bottom);
    Inference inference;
    std::int64_t begin = 0;
    for (int top = 0; top < tops(); ++top) {
      const std::int64_t end = end_of(top, bottom, axis);
      inference.tops.push_back(bottom.with(axis, end - begin));
      begin = end;
    }
    return inference;
  }

  bool any_layout() const override { return single(); }
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (axis(request.bottoms[0]) > 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SliceOp>(
        Parts(request.tops, axis(request.bottoms[0]), request.bottom_layouts[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool is_view(int) const override { return single(); }
  bool is_gradient_view() const override { return single(); }

 private:
  const caffe::SliceParameter& parameter() const { return definition().slice_param(); }
  int tops() const { return definition().top_size(); }
  bool single() const { return tops() == 1; }

  int axis(const Shape& bottom) const {
    std::optional<std::uint32_t> older;
    if (parameter().has_slice_dim()) older = parameter().slice_dim();
    return axis_of(bottom, parameter().axis(), older, "slice_param", "slice_dim");
  }

  std::int64_t end_of(int top, const Shape& bottom, int axis) const {
    const std::int64_t size = bottom[axis];
    if (parameter().slice_point_size() == 0) {
      require(size % tops() == 0,
              "axis {} of {} cannot be cut into {} equal parts; give slice_param.slice_point", axis,
              bottom.str(), tops());
      return size / tops() * (top + 1);
    }
    if (top == tops() - 1) return size;
    const std::int64_t point = parameter().slice_point(top);
    require(point <= size, "slice_param.slice_point {} is beyond the end of axis {} of {}", point,
            axis, bottom.str());
    return point;
  }
};

}  // namespace

std::unique_ptr<Layer> make_slice(const caffe::LayerParameter& definition) {
  return std::make_unique<SliceLayer>(definition);
}

}  // namespace crema
