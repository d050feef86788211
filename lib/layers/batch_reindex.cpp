// BatchReindex (2 bottoms x and idx, 1 top): the items of x that idx names, in its order.
//
//   y[i] = x[idx[i]]        dx[idx[i]] += dy[i]
//
// idx has 1 axis. It is cut to integers, as in Caffe, but checked, and gets no gradient. Items may
// be channels-last.
#include "base/error.h"
#include "kernels/rows.h"
#include "layers/fields.h"

namespace crema {
namespace {

class BatchReindexOp final : public Op {
 public:
  explicit BatchReindexOp(const PlanRequest& request)
      : items_(request.tops[0][0]), length_(request.bottoms[0].count_from(1)) {}

  void forward(const RunContext& run) override {
    require_indices(run);
    run_loop(run.device, "gather_rows", &gather_rows<Cpu, float>, items_, length_,
             run.bottoms[1].read(), run.bottoms[0].read(), static_cast<const float*>(nullptr),
             run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    gradient.fill_zero();
    if (!run.top_gradients[0]) return;
    run_loop(run.device, "scatter_add_rows", &scatter_add_rows<Cpu, float>, items_, length_,
             run.bottoms[1].read(), run.top_gradients[0].read(), gradient.update());
  }

 private:
  static void require_indices(const RunContext& run) {
    const std::int64_t rows = run.bottoms[0].shape()[0];
    const std::int64_t bad = first_bad_index(run.bottoms[1], rows);
    if (bad < 0) return;
    fail("index {:g} of {} in bottom 1 names no item of bottom 0, which has {} (0 is the first)",
         value_at(run.bottoms[1], bad), place_of(run, 1, bad), rows);
  }

  std::int64_t items_, length_;
};

class BatchReindexLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require(bottoms[0].axes() > 0, "bottom 0 is a scalar; it needs items along axis 0");
    require(bottoms[1].axes() == 1, "bottom 1 must be a list of indices with 1 axis, but is {}",
            bottoms[1].str());
    Inference inference;
    inference.tops = {bottoms[0].with(0, bottoms[1][0])};
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<BatchReindexOp>(request);
  }
  bool backward_reads_bottom(int bottom) const override { return bottom == 1; }
  bool differentiable(int bottom) const override { return bottom == 0; }
};

}  // namespace

std::unique_ptr<Layer> make_batch_reindex(const caffe::LayerParameter& definition) {
  return std::make_unique<BatchReindexLayer>(definition);
}

}  // namespace crema
