// SPP, spatial pyramid pooling (1 bottom, 1 top): the same image pooled into 1, 4, 16, … bins, so
// that images of any size give equally many values.
//
// Bottom N x C x H x W. Level l = 0 .. pyramid_height-1 is a Pooling (MAX or AVE) with 2^l bins
// each way: kernel = ceil(size / bins), stride = kernel, pad = (kernel * bins - size + 1) / 2 cut
// to an integer, and the sizes that Pooling's rules give. Top: N x (the levels one after the other,
// each C x bins flattened); with one level the top stays N x C x 1 x 1.
//
// Gradient: the sum of the levels' gradients. He et al., "Spatial pyramid pooling in deep
// convolutional networks", 2014.
#include <algorithm>

#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/strided_copy.h"
#include "layers/fields.h"
#include "layers/layer.h"
#include "layers/pooling_size.h"
#include "primitives/pooling.h"

namespace crema {
namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t bytes_of(const Shape& shape) {
  return rounded(static_cast<std::size_t>(shape.count()) * sizeof(float));
}

class SppOp final : public Op {
 public:
  SppOp(const PlanRequest& request, const std::vector<PoolingShape>& levels) {
    std::size_t most_pooled = 0, most_scratch = 0;
    for (const PoolingShape& shape : levels) {
      PoolingPlan plan =
          plan_pooling(request.device, shape, Layout(), request.any_gradient(), false);
      refusals_.insert(refusals_.end(), plan.refusals.begin(), plan.refusals.end());
      engine_ = plan.pooling->engine();
      most_pooled = std::max(most_pooled, bytes_of(shape.top()));
      most_scratch = std::max(most_scratch, rounded(plan.pooling->scratch_bytes()));
      row_ += shape.top().count_from(1);
      levels_.push_back({shape, std::move(plan.pooling), workspace_bytes_});
      workspace_bytes_ += rounded(levels_.back().pooling->workspace_bytes());
    }
    // Scratch: a level's own; its top or that one's gradient; its part of the bottom's gradient.
    pooled_ = most_scratch;
    part_ = pooled_ + most_pooled;
    scratch_bytes_ = part_;
    if (request.any_gradient() && levels.size() > 1) {
      scratch_bytes_ += bytes_of(levels[0].bottom());
    }
  }

  void forward(const RunContext& run) override {
    std::int64_t offset = 0;
    for (const Level& level : levels_) {
      const Tensor pooled = in_scratch(run, level.shape.top(), pooled_);
      level.pooling->forward(run.bottoms[0], pooled, workspace(run, level), run.scratch);
      const std::int64_t length = pooled.shape().count_from(1);
      copy_rows(run.device, length, pooled.read(), length, run.tops[0].write() + offset, row_);
      offset += length;
    }
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    std::int64_t offset = 0;
    for (const Level& level : levels_) {
      const Tensor pooled = in_scratch(run, level.shape.top(), pooled_);
      const std::int64_t length = pooled.shape().count_from(1);
      copy_rows(run.device, length, run.top_gradients[0].read() + offset, row_, pooled.write(),
                length);
      const Tensor part = offset == 0 ? gradient : in_scratch(run, level.shape.bottom(), part_);
      level.pooling->backward(pooled, part, workspace(run, level), run.scratch);
      if (offset > 0) axpy(run.device, part.elements(), 1, part.read(), gradient.update());
      offset += length;
    }
  }

 private:
  struct Level {
    PoolingShape shape;
    std::unique_ptr<Pooling> pooling;
    std::size_t workspace;  ///< where in the op's its own begins
  };

  static Tensor in_scratch(const RunContext& run, const Shape& shape, std::size_t offset) {
    return Tensor(run.device, shape, Layout(),
                  reinterpret_cast<float*>(static_cast<char*>(run.scratch) + offset));
  }
  static void* workspace(const RunContext& run, const Level& level) {
    return static_cast<char*>(run.workspace) + level.workspace;
  }
  /// One row an item.
  void copy_rows(Device& device, std::int64_t length, const float* from, std::int64_t from_stride,
                 float* to, std::int64_t to_stride) const {
    StridedCopy box;
    box.add_axis(levels_[0].shape.batch, from_stride, to_stride);
    box.add_axis(length, 1, 1);
    strided_copy(device, box, from, to);
  }

  std::vector<Level> levels_;
  std::int64_t row_ = 0;  ///< values of an item in the top
  std::size_t pooled_ = 0, part_ = 0;
};

class SppLayer final : public Layer {
 public:
  explicit SppLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const caffe::SPPParameter& p = parameter();
    note_engine(*this, p.engine() == caffe::SPPParameter::CUDNN, "spp_param.engine");
    require(p.pool() != caffe::SPPParameter::STOCHASTIC,
            "spp_param.pool: STOCHASTIC is not supported; there are MAX and AVE");
    require(p.has_pyramid_height(), "spp_param.pyramid_height is missing");
    require(p.pyramid_height() > 0, "spp_param.pyramid_height is 0, it must be at least 1");
    require(p.pyramid_height() <= kMostLevels,
            "spp_param.pyramid_height {} is too large: level {} would have 2^{} bins each way",
            p.pyramid_height(), p.pyramid_height() - 1, p.pyramid_height() - 1);
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    std::int64_t length = 0;
    for (const PoolingShape& level : levels(bottoms[0])) {
      length += level.top().count_from(1);
      inference.multiply_adds += work_of({level.top().count(), level.kernel_h, level.kernel_w});
    }
    if (parameter().pyramid_height() == 1) {
      inference.tops = {levels(bottoms[0])[0].top()};
    } else {
      inference.tops = {Shape{bottoms[0][0], length}};
    }
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<SppOp>(request, levels(request.bottoms[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return false; }

 private:
  static constexpr std::uint32_t kMostLevels = 16;

  const caffe::SPPParameter& parameter() const { return definition().spp_param(); }

  /// Kernel, stride and padding of one axis.
  static PoolingWindow window_of(const char* axis, std::int64_t in, std::int64_t bins) {
    PoolingWindow window;
    window.kernel = (in + bins - 1) / bins;
    window.stride = window.kernel;
    window.pad = (window.kernel * bins - in + 1) / 2;
    require(
        window.pad < window.kernel,
        "the {} {} is too small for {} bins each way (spp_param.pyramid_height): the windows of "
        "size {} would need padding {}",
        axis, in, bins, window.kernel, window.pad);
    return window;
  }

  std::vector<PoolingShape> levels(const Shape& bottom) const {
    require(bottom.axes() == 4, "the bottom must have 4 axes (N x C x H x W), not {} ({})",
            bottom.axes(), bottom.str());
    require(bottom[2] > 0 && bottom[3] > 0, "the bottom has no pixels ({})", bottom.str());
    std::vector<PoolingShape> levels;
    for (std::uint32_t level = 0; level < parameter().pyramid_height(); ++level) {
      const std::int64_t bins = std::int64_t{1} << level;
      const PoolingWindow h = window_of("height", bottom[2], bins);
      const PoolingWindow w = window_of("width", bottom[3], bins);
      const bool clip = h.pad > 0 || w.pad > 0;
      PoolingShape s;
      s.method =
          parameter().pool() == caffe::SPPParameter::MAX ? PoolMethod::kMax : PoolMethod::kAverage;
      s.batch = bottom[0];
      s.channels = bottom[1];
      s.in_h = bottom[2];
      s.in_w = bottom[3];
      s.kernel_h = h.kernel;
      s.kernel_w = w.kernel;
      s.stride_h = h.stride;
      s.stride_w = w.stride;
      s.pad_h = h.pad;
      s.pad_w = w.pad;
      s.out_h = pooled_size("height", s.in_h, h, clip, false);
      s.out_w = pooled_size("width", s.in_w, w, clip, false);
      levels.push_back(s);
    }
    return levels;
  }
};

}  // namespace

std::unique_ptr<Layer> make_spp(const caffe::LayerParameter& definition) {
  return std::make_unique<SppLayer>(definition);
}

}  // namespace crema
