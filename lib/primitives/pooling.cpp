// Chooses the engine of a pooling: oneDNN where it is faster and has Caffe's windows, else our
// loops. A winner takes one byte of the workspace where the window has fewer than 256 places.
#include "primitives/pooling.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "primitives/cpu/pooling.h"
#include "primitives/layouts.h"
#include "primitives/pooling_loops.h"

namespace crema {
namespace {

/// Index: the type of a winner in the workspace.
template <class Index>
class LoopPooling final : public Pooling {
 public:
  LoopPooling(Device& device, const PoolingShape& shape, bool channels_last, bool keep_winners)
      : device_(device),
        shape_(shape),
        channels_last_(channels_last),
        keep_winners_(keep_winners && shape.method == PoolMethod::kMax) {}

  void forward(const Tensor& bottom, const Tensor& top, void* workspace, void*) override {
    if (shape_.method == PoolMethod::kAverage) {
      const auto loop = channels_last_ ? loops::average_forward_last : loops::average_forward_plain;
      loop(device_, shape_, bottom.read(), top.write());
    } else {
      const auto loop =
          channels_last_ ? loops::max_forward_last<Index> : loops::max_forward_plain<Index>;
      loop(device_, shape_, bottom.read(), top.write(),
           keep_winners_ ? static_cast<Index*>(workspace) : nullptr);
    }
  }

  void backward(const Tensor& top_gradient, const Tensor& bottom_gradient, const void* workspace,
                void*) override {
    if (shape_.method == PoolMethod::kAverage) {
      const auto loop =
          channels_last_ ? loops::average_backward_last : loops::average_backward_plain;
      loop(device_, shape_, top_gradient.read(), bottom_gradient.write());
    } else {
      CREMA_ASSERT(keep_winners_);
      const auto loop =
          channels_last_ ? loops::max_backward_last<Index> : loops::max_backward_plain<Index>;
      loop(device_, shape_, top_gradient.read(), static_cast<const Index*>(workspace),
           bottom_gradient.write());
    }
  }

  void write_mask(const void* workspace, const Tensor& mask) override {
    CREMA_ASSERT(keep_winners_);
    const loops::PoolAxis rows = loops::rows_of(shape_);
    const loops::PoolAxis columns = loops::columns_of(shape_);
    const std::int64_t inner = channels_last_ ? shape_.channels : 1;
    const auto* const winners = static_cast<const Index*>(workspace);
    float* const to = mask.write();
    parallel_for(Cpu{}, device_, shape_.top().count(), [=](std::int64_t i) {
      const std::int64_t position = i / inner % (rows.out * columns.out);
      const std::int64_t h = rows.start(position / columns.out) + winners[i] / columns.kernel;
      const std::int64_t w = columns.start(position % columns.out) + winners[i] % columns.kernel;
      to[i] =
          winners[i] == loops::kNoWinner<Index> ? -1.0f : static_cast<float>(h * columns.in + w);
    });
  }

  std::size_t workspace_bytes() const override {
    return keep_winners_ ? static_cast<std::size_t>(shape_.top().count()) * sizeof(Index) : 0;
  }
  std::size_t scratch_bytes() const override { return 0; }
  std::string engine() const override { return channels_last_ ? "loop channels-last" : "loop"; }

 private:
  Device& device_;
  PoolingShape shape_;
  bool channels_last_;
  bool keep_winners_;
};

}  // namespace

PoolingPlan plan_pooling(Device& device, const PoolingShape& shape, const Layout& layout,
                         bool backward, bool mask) {
  CREMA_ASSERT(layout.is_plain() || is_channels_last(layout));
  const bool keep_winners = backward || mask;
  // One channel or one pixel: the same memory either way, and vectors of channels suit the one
  // pixel.
  const bool last =
      is_channels_last(layout) ||
      (layout.is_plain() && shape.in_h * shape.in_w == 1 && shape.out_h * shape.out_w == 1);
  PoolingPlan plan;
  std::string refusal;
  plan.pooling = cpu::make_onednn_pooling(device, shape, layout, backward, mask, &refusal);
  if (plan.pooling) return plan;
  plan.refusals.push_back(refusal);
  if (shape.kernel_h * shape.kernel_w < 256) {  // 255 says that nothing won
    plan.pooling = std::make_unique<LoopPooling<std::uint8_t>>(device, shape, last, keep_winners);
  } else {
    plan.pooling = std::make_unique<LoopPooling<std::int32_t>>(device, shape, last, keep_winners);
  }
  return plan;
}

}  // namespace crema
