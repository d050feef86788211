// Concat (n >= 1 bottoms, 1 top): bottoms laid one after the other along `axis` (or the older
// concat_dim).
//
// The bottoms agree in all other axes. Along items and channels (axes 0 and 1) it also works
// channels-last. A single bottom is the top.
#include "base/error.h"
#include "layers/fields.h"
#include "layers/parts.h"

namespace crema {
namespace {

class ConcatOp final : public Op {
 public:
  explicit ConcatOp(Parts parts) : parts_(std::move(parts)) {}

  void forward(const RunContext& run) override {
    parts_.join(run.device, run.bottoms, run.tops[0]);
  }
  void backward(const RunContext& run) override {
    parts_.cut(run.device, run.top_gradients[0], run.bottom_gradients);
  }

 private:
  Parts parts_;
};

class ConcatLayer final : public Layer {
 public:
  explicit ConcatLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(!parameter().has_axis() || !parameter().has_concat_dim(),
            "concat_param.axis is given together with concat_dim, its older name; give one only");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const int axis = this->axis(bottoms[0]);
    std::int64_t size = 0;
    for (std::size_t i = 0; i < bottoms.size(); ++i) {
      const Shape& bottom = bottoms[i];
      require(bottom.axes() == bottoms[0].axes(),
              "bottoms must have the same number of axes: bottom 0 is {}, bottom {} is {}",
              bottoms[0].str(), i, bottom.str());
      require(bottom.with(axis, 0) == bottoms[0].with(axis, 0),
              "bottoms must agree in all axes but {}: bottom 0 is {}, bottom {} is {}", axis,
              bottoms[0].str(), i, bottom.str());
      size += bottom[axis];
    }
    Inference inference;
    inference.tops = {bottoms[0].with(axis, size)};
    return inference;
  }

  bool any_layout() const override { return single(); }
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (axis(request.bottoms[0]) > 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<ConcatOp>(
        Parts(request.bottoms, axis(request.bottoms[0]), request.top_layouts[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool is_view(int) const override { return single(); }
  bool is_gradient_view() const override { return single(); }

 private:
  const caffe::ConcatParameter& parameter() const { return definition().concat_param(); }
  bool single() const { return definition().bottom_size() == 1; }
  int axis(const Shape& bottom) const {
    std::optional<std::uint32_t> older;
    if (parameter().has_concat_dim()) older = parameter().concat_dim();
    return axis_of(bottom, parameter().axis(), older, "concat_param", "concat_dim");
  }
};

}  // namespace

std::unique_ptr<Layer> make_concat(const caffe::LayerParameter& definition) {
  return std::make_unique<ConcatLayer>(definition);
}

}  // namespace crema
