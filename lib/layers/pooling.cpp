// Pooling (1 bottom, 1 top; MAX: 1 to 2 tops): the maximum or average of every window.
//
// Bottom N x C x H x W. Output size of each direction: round((in + 2*pad - kernel) / stride) + 1,
// rounded up, or down with round_mode FLOOR; with padding, a last window that would start at or
// past in + pad is dropped. The window of output i starts at i*stride - pad. MAX is over the part
// inside the image, the first in row-major order winning ties; AVE divides by the window's area up
// to in + pad, before it is cut to the image. The second top holds the winner's index h*W + w as a
// number. global_pooling: one window, the whole image.
//
// Gradient: to the winner (MAX), or the same share to each element of the window (AVE).
#include <cmath>

#include "base/error.h"
#include "layers/fields.h"
#include "primitives/layouts.h"
#include "primitives/pooling.h"

namespace crema {
namespace {

/// NAME, or NAME_h and NAME_w both.
struct HeightWidth {
  std::int64_t h, w;
  const char *h_name, *w_name;
};

HeightWidth height_width(const char* name, const char* h_name, const char* w_name, bool given,
                         std::int64_t both, bool h_given, std::int64_t h, bool w_given,
                         std::int64_t w) {
  if (!h_given && !w_given) return {both, both, name, name};
  require(!given, "pooling_param.{} is given together with {}; give one kind only", name,
          h_given ? h_name : w_name);
  require(h_given && w_given, "pooling_param.{} is missing: {} and {} go together",
          h_given ? w_name : h_name, h_name, w_name);
  return {h, w, h_name, w_name};
}

/// One direction of the output.
std::int64_t output_size(const char* axis, std::int64_t in, std::int64_t kernel,
                         std::int64_t stride, std::int64_t pad, bool clip, bool floor) {
  const float steps =
      static_cast<float>(padded_size(in, pad) - kernel) / static_cast<float>(stride);
  std::int64_t out = static_cast<std::int64_t>(floor ? std::floor(steps) : std::ceil(steps)) + 1;
  require(out > 0, "the kernel {} is larger than the padded input: {} {}, pad {} on both sides",
          kernel, axis, in, pad);
  if (clip && (out - 1) * stride >= in + pad) --out;
  require(
      (out - 1) * stride - pad < in,
      "the last window lies outside of the image: it starts at {} of {} {} (stride {} is larger "
      "than the kernel {}); use round_mode: FLOOR",
      (out - 1) * stride - pad, axis, in, stride, kernel);
  return out;
}

class PoolingOp final : public Op {
 public:
  PoolingOp(const PlanRequest& request, const PoolingShape& shape) {
    // Where one tensor is plain and another is not, the plain one is so in name only.
    const Layout& bottom = request.bottom_layouts[0];
    PoolingPlan plan =
        plan_pooling(request.device, shape, bottom.is_plain() ? request.top_layouts[0] : bottom,
                     request.any_gradient(), request.tops.size() > 1);
    pooling_ = std::move(plan.pooling);
    refusals_ = std::move(plan.refusals);
    engine_ = pooling_->engine();
    workspace_bytes_ = pooling_->workspace_bytes();
    scratch_bytes_ = pooling_->scratch_bytes();
  }

  void forward(const RunContext& run) override {
    pooling_->forward(run.bottoms[0], run.tops[0], run.workspace, run.scratch);
    if (run.tops.size() > 1) pooling_->write_mask(run.workspace, run.tops[1]);
  }

  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      pooling_->backward(run.top_gradients[0], run.bottom_gradients[0], run.workspace, run.scratch);
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  std::unique_ptr<Pooling> pooling_;
};

class PoolingLayer final : public Layer {
 public:
  explicit PoolingLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const caffe::PoolingParameter& p = definition.pooling_param();
    note_engine(*this, p.engine() == caffe::PoolingParameter::CUDNN, "pooling_param.engine");
    require(p.pool() != caffe::PoolingParameter::STOCHASTIC,
            "pooling_param.pool: STOCHASTIC is not supported yet; there are MAX and AVE");
    require(definition.top_size() <= 1 || p.pool() == caffe::PoolingParameter::MAX,
            "a second top (the index of the maximum) is for MAX pooling only");
    const bool any_kernel = p.has_kernel_size() || p.has_kernel_h() || p.has_kernel_w();
    kernel_ =
        height_width("kernel_size", "kernel_h", "kernel_w", p.has_kernel_size(), p.kernel_size(),
                     p.has_kernel_h(), p.kernel_h(), p.has_kernel_w(), p.kernel_w());
    pad_ = height_width("pad", "pad_h", "pad_w", p.has_pad(), p.pad(), p.has_pad_h(), p.pad_h(),
                        p.has_pad_w(), p.pad_w());
    stride_ = height_width("stride", "stride_h", "stride_w", p.has_stride(), p.stride(),
                           p.has_stride_h(), p.stride_h(), p.has_stride_w(), p.stride_w());
    check_positive(stride_);
    if (p.global_pooling()) {
      require(!any_kernel,
              "pooling_param.global_pooling takes the whole image as window: no kernel_size");
      require(
          pad_.h == 0 && pad_.w == 0 && stride_.h == 1 && stride_.w == 1,
          "pooling_param.global_pooling takes pad 0 and stride 1 only, not pad {}x{} and stride "
          "{}x{}",
          pad_.h, pad_.w, stride_.h, stride_.w);
      return;
    }
    require(any_kernel, "pooling_param.kernel_size is missing");
    check_positive(kernel_);
    check_pad(pad_.h_name, pad_.h, kernel_.h);
    check_pad(pad_.w_name, pad_.w, kernel_.w);
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const PoolingShape shape = pooling_shape(bottoms[0]);
    Inference inference;
    inference.tops.assign(definition().top_size() > 1 ? 2 : 1, shape.top());
    inference.multiply_adds = work_of({shape.top().count(), shape.kernel_h, shape.kernel_w});
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    std::vector<LayoutChoice> choices = plain_or_channels_last(request);
    const double bytes = static_cast<double>(
        (request.bottoms[0].count() + request.tops[0].count()) * std::int64_t{sizeof(float)});
    // Measured on an AVX-512 core: 5 and 8 GB/s.
    choices[0].cost = bytes / 5e9;
    if (choices.size() > 1) choices[1].cost = bytes / 8e9;
    return choices;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<PoolingOp>(request, pooling_shape(request.bottoms[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }

 private:
  static void check_positive(const HeightWidth& size) {
    require(size.h > 0, "pooling_param.{} is 0, it must be at least 1", size.h_name);
    require(size.w > 0, "pooling_param.{} is 0, it must be at least 1", size.w_name);
  }
  static void check_pad(const char* name, std::int64_t pad, std::int64_t kernel) {
    require(pad == 0 || pad < kernel, "pooling_param.{} {} is not smaller than the kernel {}", name,
            pad, kernel);
  }

  PoolingShape pooling_shape(const Shape& bottom) const {
    const caffe::PoolingParameter& p = definition().pooling_param();
    require(bottom.axes() == 4, "the bottom must have 4 axes (N x C x H x W), not {} ({})",
            bottom.axes(), bottom.str());
    PoolingShape s;
    s.method = p.pool() == caffe::PoolingParameter::MAX ? PoolMethod::kMax : PoolMethod::kAverage;
    s.batch = bottom[0];
    s.channels = bottom[1];
    s.in_h = bottom[2];
    s.in_w = bottom[3];
    require(s.in_h > 0 && s.in_w > 0, "the bottom has no pixels ({})", bottom.str());
    s.kernel_h = p.global_pooling() ? s.in_h : kernel_.h;
    s.kernel_w = p.global_pooling() ? s.in_w : kernel_.w;
    s.stride_h = stride_.h;
    s.stride_w = stride_.w;
    s.pad_h = pad_.h;
    s.pad_w = pad_.w;
    const bool clip = pad_.h > 0 || pad_.w > 0;
    const bool floor = p.round_mode() == caffe::PoolingParameter::FLOOR;
    s.out_h = output_size("height", s.in_h, s.kernel_h, s.stride_h, s.pad_h, clip, floor);
    s.out_w = output_size("width", s.in_w, s.kernel_w, s.stride_w, s.pad_w, clip, floor);
    return s;
  }

  HeightWidth kernel_{}, pad_{}, stride_{};
};

}  // namespace

std::unique_ptr<Layer> make_pooling(const caffe::LayerParameter& definition) {
  return std::make_unique<PoolingLayer>(definition);
}

}  // namespace crema
