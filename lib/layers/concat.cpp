// Concat (n >= 1 bottoms, 1 top): bottoms laid one after the other along `axis` (or the older
// concat_dim).
//
// The bottoms agree in all other axes. Along channels (axis 1) it also works channels-last. A
// single bottom is the top.
#include <cstring>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

/// Copies `rows` rows of `floats` values between arrays with these distances between rows.
void copy_rows(Device& device, std::int64_t rows, std::int64_t floats, const float* from,
               std::int64_t from_stride, float* to, std::int64_t to_stride) {
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (device.kind() == DeviceKind::kCpu) {
    parallel_ranges(device, rows, floats, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::memcpy(to + row * to_stride, from + row * from_stride, bytes);
      }
    });
  } else {
    for (std::int64_t row = 0; row < rows; ++row) {
      device.copy_within(from + row * from_stride, to + row * to_stride, bytes);
    }
  }
}

class ConcatOp final : public Op {
 public:
  /// Row lengths: one for each bottom.
  ConcatOp(std::int64_t rows, std::vector<std::int64_t> lengths)
      : rows_(rows), lengths_(std::move(lengths)) {
    for (const std::int64_t length : lengths_) row_ += length;
  }

  void forward(const RunContext& run) override {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      if (run.bottoms[i].read() != run.tops[0].read()) {
        copy_rows(run.device, rows_, lengths_[i], run.bottoms[i].read(), lengths_[i],
                  run.tops[0].write() + offset, row_);
      }
      offset += lengths_[i];
    }
  }

  void backward(const RunContext& run) override {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      const Tensor& gradient = run.bottom_gradients[i];
      if (gradient && !run.top_gradients[0]) {
        gradient.fill_zero();
      } else if (gradient && gradient.read() != run.top_gradients[0].read()) {
        copy_rows(run.device, rows_, lengths_[i], run.top_gradients[0].read() + offset, row_,
                  gradient.write(), lengths_[i]);
      }
      offset += lengths_[i];
    }
  }

 private:
  std::int64_t rows_, row_ = 0;
  std::vector<std::int64_t> lengths_;
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
    if (axis(request.bottoms[0]) != 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const int axis = this->axis(request.bottoms[0]);
    bool last = is_channels_last(request.top_layouts[0]);
    const Shape& first = request.bottoms[0];
    const std::int64_t inner = last ? 1 : first.count_from(axis + 1);
    const std::int64_t rows = first.count(0, axis) * (last ? first.count_from(axis + 1) : 1);
    std::vector<std::int64_t> lengths;
    for (const Shape& bottom : request.bottoms) lengths.push_back(bottom[axis] * inner);
    return std::make_unique<ConcatOp>(rows, std::move(lengths));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool is_view(int) const override { return single(); }
  bool is_gradient_view() const override { return single(); }

 private:
  const caffe::ConcatParameter& parameter() const { return definition().concat_param(); }
  bool single() const { return definition().bottom_size() == 1; }
  int axis(const Shape& bottom) const {
    if (!parameter().has_concat_dim()) {
      return axis_of(bottom, parameter().axis(), "concat_param.axis");
    }
    require(static_cast<std::int64_t>(parameter().concat_dim()) < bottom.axes(),
            "concat_param.concat_dim: axis {} does not exist in a blob of {} axes ({})",
            parameter().concat_dim(), bottom.axes(), bottom.str());
    return static_cast<int>(parameter().concat_dim());
  }
};

}  // namespace

std::unique_ptr<Layer> make_concat(const caffe::LayerParameter& definition) {
  return std::make_unique<ConcatLayer>(definition);
}

}  // namespace crema
