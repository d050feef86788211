// Crop (2 bottoms, 1 top): bottom 0 cut to the size of bottom 1 in the axes from `axis` on, which
// begin at `offset` (none: 0; one: for all of them; or one for each).
//
//   y[i] = x[i + offset]        dx = dy at the crop, 0 elsewhere
//
// Bottom 1 is a shape only: its values are not read and it gets no gradient.
#include <numeric>

#include "base/error.h"
#include "kernels/strided_copy.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

/// Distances of neighbours along each axis, in a plain or a channels-last layout.
std::vector<std::int64_t> strides_of(const Shape& shape, const Layout& layout) {
  const bool last = is_channels_last(layout);
  std::vector<std::int64_t> strides;
  for (int axis = 0; axis < shape.axes(); ++axis) {
    std::int64_t stride = shape.count_from(axis + 1);
    if (last && axis == 1) stride = 1;
    if (last && axis > 1) stride *= shape[1];
    strides.push_back(stride);
  }
  return strides;
}

class CropOp final : public Op {
 public:
  CropOp(const PlanRequest& request, const std::vector<std::int64_t>& offsets) {
    const Shape& top = request.tops[0];
    const auto bottom_strides = strides_of(request.bottoms[0], request.bottom_layouts[0]);
    const auto top_strides = strides_of(top, request.top_layouts[0]);
    // From the outermost axis in memory to the innermost.
    std::vector<int> order(static_cast<std::size_t>(top.axes()));
    std::iota(order.begin(), order.end(), 0);
    if (is_channels_last(request.bottom_layouts[0])) {
      order.erase(order.begin() + 1);
      order.push_back(1);
    }
    for (const int axis : order) {
      const auto a = static_cast<std::size_t>(axis);
      forward_.add_axis(top[axis], bottom_strides[a], top_strides[a]);
      backward_.add_axis(top[axis], top_strides[a], bottom_strides[a]);
      start_ += offsets[a] * bottom_strides[a];
    }
  }

  void forward(const RunContext& run) override {
    strided_copy(run.device, forward_, run.bottoms[0].read() + start_, run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    gradient.fill_zero();
    if (!run.top_gradients[0]) return;
    strided_copy(run.device, backward_, run.top_gradients[0].read(), gradient.update() + start_);
  }

 private:
  StridedCopy forward_, backward_;
  std::int64_t start_ = 0;  ///< where the crop begins in bottom 0
};

class CropLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    const int first = axis(bottom);
    const std::vector<std::int64_t> offsets = this->offsets(bottom);
    require(bottoms[1].axes() >= bottom.axes(),
            "bottom 1, whose size is cut out, must have the axes of bottom 0: that is {}, bottom 1 "
            "is {}",
            bottom.str(), bottoms[1].str());
    Shape top = bottom;
    for (int axis = first; axis < bottom.axes(); ++axis) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(axis)];
      require(offset <= bottom[axis] && bottoms[1][axis] <= bottom[axis] - offset,
              "the crop leaves the blob in axis {}: offset {} and size {} (bottom 1 is {}) are "
              "beyond {} (bottom 0 is {})",
              axis, offset, bottoms[1][axis], bottoms[1].str(), bottom[axis], bottom.str());
      top = top.with(axis, bottoms[1][axis]);
    }
    Inference inference;
    inference.tops = {top};
    return inference;
  }

  /// In whatever layout bottom 1 is, nobody looks.
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    std::vector<LayoutChoice> choices;
    const LayoutChoice plain = plain_choice(request);
    for (const Layout& own : {Layout(), channels_last(request.bottoms[0])}) {
      for (const Layout& other : {Layout(), channels_last(request.bottoms[1])}) {
        choices.push_back(plain);
        choices.back().bottoms = {own, other};
        if (!own.is_plain()) choices.back().tops[0] = channels_last(request.tops[0]);
      }
    }
    return choices;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<CropOp>(request, offsets(request.bottoms[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool differentiable(int bottom) const override { return bottom == 0; }

 private:
  const caffe::CropParameter& parameter() const { return definition().crop_param(); }
  int axis(const Shape& bottom) const {
    return axis_of(bottom, parameter().axis(), "crop_param.axis");
  }

  /// One for each axis of the bottom, 0 before `axis`.
  std::vector<std::int64_t> offsets(const Shape& bottom) const {
    const int first = axis(bottom), given = parameter().offset_size();
    const int cropped = bottom.axes() - first;
    require(given <= 1 || given == cropped,
            "crop_param.offset is given {} times, but {} axes are cropped (from axis {} of {} on); "
            "give one for all or one for each",
            given, cropped, first, bottom.str());
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(bottom.axes()), 0);
    for (int axis = first; axis < bottom.axes() && given > 0; ++axis) {
      offsets[static_cast<std::size_t>(axis)] = parameter().offset(given == 1 ? 0 : axis - first);
    }
    return offsets;
  }
};

}  // namespace

std::unique_ptr<Layer> make_crop(const caffe::LayerParameter& definition) {
  return std::make_unique<CropLayer>(definition);
}

}  // namespace crema
