// Filter (n + 1 bottoms, the last of them the selector; n tops): the items (axis 0) whose selector
// value is not 0.
//
// The selector has one value an item. How many items there are in the tops is known only when it
// is, so that what follows is planned anew whenever their number changes; none at all is fine.
// dx = dy for the items that were kept, 0 for the others; no gradient for the selector.
#include <algorithm>

#include "base/error.h"
#include "kernels/rows.h"
#include "layers/layer.h"

namespace crema {
namespace {

class FilterOp final : public Op {
 public:
  explicit FilterOp(const PlanRequest& request) : items_(request.bottoms.back()[0]) {
    workspace_bytes_ = static_cast<std::size_t>(items_) * sizeof(float);
  }

  void forward(const RunContext& run) override {
    const float* const selector = run.bottoms.back().read();
    auto* const kept = static_cast<float*>(run.workspace);
    kept_ = 0;
    for (std::int64_t i = 0; i < items_; ++i) {
      if (selector[i] != 0) kept[kept_++] = static_cast<float>(i);
    }
    for (std::size_t i = 0; i < run.tops.size(); ++i) {
      CREMA_ASSERT(run.tops[i].shape()[0] == kept_);
      run_loop(run.device, "gather_rows", &gather_rows<Cpu, float>, kept_,
               run.bottoms[i].shape().count_from(1), kept, run.bottoms[i].read(), nullptr,
               run.tops[i].write());
    }
  }

  void backward(const RunContext& run) override {
    for (std::size_t i = 0; i < run.tops.size(); ++i) {
      const Tensor& gradient = run.bottom_gradients[i];
      if (!gradient) continue;
      gradient.fill_zero();
      if (!run.top_gradients[i]) continue;
      run_loop(run.device, "scatter_add_rows", &scatter_add_rows<Cpu, float>, kept_,
               gradient.shape().count_from(1), static_cast<const float*>(run.workspace),
               run.top_gradients[i].read(), gradient.update());
    }
  }

 private:
  std::int64_t items_;
  std::int64_t kept_ = 0;  ///< of the last forward pass; which ones is in the workspace
};

class FilterLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require(bottoms.size() == tops() + 1,
            "gives one top for each bottom but the last, the selector: {} for {} bottoms, not {}",
            bottoms.size() - 1, bottoms.size(), tops());
    const Shape& selector = bottoms.back();
    require(selector.axes() >= 1 && selector.count_from(1) == 1,
            "the selector (bottom {}) must hold one value an item, but is {}", tops(),
            selector.str());
    for (std::size_t i = 0; i < tops(); ++i) {
      require(bottoms[i].axes() >= 1 && bottoms[i][0] == selector[0],
              "the selector (bottom {}) is {}: it selects among {} items, but bottom {} is {}",
              tops(), selector.str(), selector[0], i, bottoms[i].str());
    }
    Inference inference;
    inference.tops.assign(bottoms.begin(), bottoms.end() - 1);
    return inference;
  }

  bool tops_depend_on_data() const override { return true; }
  std::vector<Shape> actual_tops(const std::vector<Tensor>& bottoms) const override {
    std::vector<float> selector(static_cast<std::size_t>(bottoms.back().elements()));
    bottoms.back().copy_to_host(selector.data());
    const auto kept =
        std::count_if(selector.begin(), selector.end(), [](float value) { return value != 0; });
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < tops(); ++i) shapes.push_back(bottoms[i].shape().with(0, kept));
    return shapes;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<FilterOp>(request);
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool differentiable(int bottom) const override { return bottom < static_cast<int>(tops()); }

 private:
  std::size_t tops() const { return static_cast<std::size_t>(definition().top_size()); }
};

}  // namespace

std::unique_ptr<Layer> make_filter(const caffe::LayerParameter& definition) {
  return std::make_unique<FilterLayer>(definition);
}

}  // namespace crema
