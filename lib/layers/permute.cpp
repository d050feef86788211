// Permute (1 bottom, 1 top), of SSD (Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016):
// the bottom with its axes in another order.
//
// Axis i of the top is axis order[i] of the bottom; axes that `order` leaves out follow in
// ascending order. dx is dy by the inverse permutation. Either side may lie channels-last, which
// only changes the strides: 0, 2, 3, 1 of a channels-last bottom is one copy from end to end. Axes
// that stay in place are a view.
#include <algorithm>

#include "base/error.h"
#include "kernels/strided_copy.h"
#include "layers/fields.h"
#include "layers/view.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

/// How far apart neighbours along each axis lie in memory.
std::vector<std::int64_t> strides_of(const Shape& shape, const Layout& layout) {
  const bool last = is_channels_last(layout);
  CREMA_ASSERT(last || layout.is_plain());
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.axes()));
  std::int64_t stride = 1;
  if (last) {
    strides[1] = 1;
    stride = shape[1];
  }
  for (int axis = shape.axes() - 1; axis >= 0; --axis) {
    if (last && axis == 1) continue;
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

StridedCopy copy_of(const Shape& bottom, const Layout& from, const Shape& top, const Layout& to,
                    const std::vector<int>& order, bool inverse) {
  const std::vector<std::int64_t> bottom_strides = strides_of(bottom, from);
  const std::vector<std::int64_t> top_strides = strides_of(top, to);
  StridedCopy box;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t in = bottom_strides[static_cast<std::size_t>(order[i])];
    const std::int64_t out = top_strides[i];
    box.add_axis(top[static_cast<int>(i)], inverse ? out : in, inverse ? in : out);
  }
  return box;
}

class PermuteOp final : public Op {
 public:
  PermuteOp(StridedCopy forward, StridedCopy backward) : forward_(forward), backward_(backward) {}

  void forward(const RunContext& run) override {
    strided_copy(run.device, forward_, run.bottoms[0].read(), run.tops[0].write());
  }
  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) return run.zero_gradients();
    strided_copy(run.device, backward_, run.top_gradients[0].read(),
                 run.bottom_gradients[0].write());
  }

 private:
  StridedCopy forward_, backward_;
};

class PermuteLayer final : public Layer {
 public:
  explicit PermuteLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require_new_name(definition);
    const auto& order = parameter().order();
    for (int i = 0; i < order.size(); ++i) {
      require(std::find(order.begin(), order.begin() + i, order[i]) == order.begin() + i,
              "permute_param.order names axis {} twice", order[i]);
      identity_ = identity_ && order[i] == static_cast<std::uint32_t>(i);
    }
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    for (const std::uint32_t axis : parameter().order()) {
      require(axis < static_cast<std::uint32_t>(bottom.axes()),
              "permute_param.order: axis {} does not exist in a blob of {} axes ({})", axis,
              bottom.axes(), bottom.str());
    }
    std::vector<std::int64_t> dims;
    for (const int axis : order_of(bottom.axes())) dims.push_back(bottom[axis]);
    Inference inference;
    inference.tops = {Shape(dims)};
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    const Shape& top = request.tops[0];
    const Layout bottom_last = channels_last(bottom), top_last = channels_last(top);
    std::vector<LayoutChoice> choices;
    for (const bool from_last : {false, true}) {
      for (const bool to_last : {false, true}) {
        if ((from_last && bottom_last.is_plain()) || (to_last && top_last.is_plain())) continue;
        LayoutChoice choice = plain_choice(request);
        if (from_last) choice.bottoms[0] = bottom_last;
        if (to_last) choice.tops[0] = top_last;
        const StridedCopy box =
            copy_of(bottom, choice.bottoms[0], top, choice.tops[0], order_of(bottom.axes()), false);
        // Both arrays once at memory speed, or several times where neighbours lie apart.
        const bool rows = box.row_from_stride() == 1 && box.row_to_stride() == 1;
        choice.cost = static_cast<double>(bottom.count()) * (rows ? 1 : 4) * 8 / 20e9;
        choices.push_back(std::move(choice));
      }
    }
    return choices;
  }
  bool any_layout() const override { return identity_; }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    if (identity_) return std::make_unique<ViewOp>();
    const auto copy = [&](bool inverse) {
      return copy_of(request.bottoms[0], request.bottom_layouts[0], request.tops[0],
                     request.top_layouts[0], order_of(request.bottoms[0].axes()), inverse);
    };
    return std::make_unique<PermuteOp>(copy(false), copy(true));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool is_view(int) const override { return identity_; }
  bool is_gradient_view() const override { return identity_; }

 private:
  const caffe::PermuteParameter& parameter() const { return definition().permute_param(); }

  std::vector<int> order_of(int axes) const {
    std::vector<int> order(parameter().order().begin(), parameter().order().end());
    for (int axis = 0; axis < axes; ++axis) {
      if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
    }
    return order;
  }

  bool identity_ = true;
};

}  // namespace

std::unique_ptr<Layer> make_permute(const caffe::LayerParameter& definition) {
  return std::make_unique<PermuteLayer>(definition);
}

}  // namespace crema
