// Pooling (1 bottom, 1 top; MAX: 1 to 2 tops): the maximum or average of every window, or an
// element drawn from it.
//
// Bottom N x C x H x W. Output size of each direction: round((in + 2*pad - kernel) / stride) + 1,
// rounded up, or down with round_mode FLOOR; with padding, a last window that would start at or
// past in + pad is dropped. The window of output i starts at i*stride - pad. global_pooling: one
// window, the whole image. With kernel_size_3d, stride_3d and pad_3d the bottom is N x C x any
// number of spatial axes, each with the same rules.
//
//   MAX          the largest in the part inside the image, the first in row-major order winning
//                ties; the second top holds its index h*W + w as a number
//   AVE          the sum over that part, divided by the window's area up to in + pad, before it is
//                cut to the image
//   STOCHASTIC   TRAIN: an element x of that part, drawn with probability x / sum of x (values are
//                taken to be >= 0); TEST: sum of x^2 / sum of x
//
// Gradient: to the winner (MAX) or what was drawn, the same share to each element of the window
// (AVE), the derivative (STOCHASTIC in TEST). A draw depends on the net's seed, the layer's name,
// the number of the pass and the element alone. Zeiler and Fergus, "Stochastic pooling for
// regularization of deep convolutional neural networks", 2013.
#include "primitives/pooling.h"
#include "base/error.h"
#include "layers/fields.h"
#include "layers/pooling_size.h"
#include "layers/window_fields.h"
#include "primitives/layouts.h"
#include "primitives/pooling_nd.h"

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

class PoolingNdOp final : public Op {
 public:
  PoolingNdOp(const PlanRequest& request, const PoolingNdShape& shape, RandomStream random)
      : pooling_(request.device, shape, request.any_gradient() || request.tops.size() > 1, random) {
    workspace_bytes_ = pooling_.workspace_bytes();
    scratch_bytes_ = pooling_.scratch_bytes();
  }

  void forward(const RunContext& run) override {
    pooling_.forward(run.bottoms[0], run.tops[0], run.workspace, run.pass);
    if (run.tops.size() > 1) pooling_.write_mask(run.workspace, run.tops[1]);
  }

  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      pooling_.backward(run.bottoms[0], run.tops[0], run.top_gradients[0], run.bottom_gradients[0],
                        run.workspace, run.scratch);
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  PoolingNd pooling_;
};

/// The windows of all spatial axes, for one shape of bottom.
struct Windows {
  Sizes in, out;
  std::vector<PoolingWindow> windows;
};

class PoolingLayer final : public Layer {
 public:
  explicit PoolingLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const caffe::PoolingParameter& p = parameter();
    note_engine(*this, p.engine() == caffe::PoolingParameter::CUDNN, "pooling_param.engine");
    require(definition.top_size() <= 1 || p.pool() == caffe::PoolingParameter::MAX,
            "a second top (the index of the maximum) is for MAX pooling only");
    const bool any_kernel = p.has_kernel_size() || p.has_kernel_h() || p.has_kernel_w();
    if (any_axes()) {
      require(!any_kernel && !p.has_pad() && !p.has_pad_h() && !p.has_pad_w() && !p.has_stride() &&
                  !p.has_stride_h() && !p.has_stride_w(),
              "pooling_param.kernel_size_3d, stride_3d and pad_3d stand in place of kernel_size, "
              "stride, pad and their _h and _w forms; give one kind only");
      require(!p.global_pooling(),
              "pooling_param.global_pooling is for 4 axes, without _3d fields");
      require(p.kernel_size_3d_size() > 0, "pooling_param.kernel_size_3d is missing");
      return;
    }
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
    const Windows w = windows(bottoms[0]);
    std::vector<std::int64_t> top = {bottoms[0][0], bottoms[0][1]};
    top.insert(top.end(), w.out.begin(), w.out.end());
    Inference inference;
    inference.tops.assign(definition().top_size() > 1 ? 2 : 1, Shape(std::move(top)));
    inference.multiply_adds = inference.tops[0].count();
    for (const PoolingWindow& window : w.windows) {
      inference.multiply_adds = work_of({inference.multiply_adds, window.kernel});
    }
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    std::vector<LayoutChoice> choices = {plain_choice(request)};
    if (is_fast(request.bottoms[0])) choices = plain_or_channels_last(request);
    const double bytes = static_cast<double>(
        (request.bottoms[0].count() + request.tops[0].count()) * std::int64_t{sizeof(float)});
    // Measured on an AVX-512 core: 5 and 8 GB/s.
    choices[0].cost = bytes / 5e9;
    if (choices.size() > 1) choices[1].cost = bytes / 8e9;
    return choices;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    const Windows w = windows(bottom);
    if (is_fast(bottom)) return std::make_unique<PoolingOp>(request, planar_shape(bottom, w));
    return std::make_unique<PoolingNdOp>(request, nd_shape(bottom, w),
                                         RandomStream(seed(), stream_id(name())));
  }
  bool backward_reads_bottom(int) const override { return is_mean_of_draws(); }
  bool backward_reads_top(int top) const override { return top == 0 && is_mean_of_draws(); }

 private:
  const caffe::PoolingParameter& parameter() const { return definition().pooling_param(); }
  bool any_axes() const {
    const caffe::PoolingParameter& p = parameter();
    return p.kernel_size_3d_size() > 0 || p.stride_3d_size() > 0 || p.pad_3d_size() > 0;
  }
  bool is_stochastic() const { return parameter().pool() == caffe::PoolingParameter::STOCHASTIC; }
  bool is_mean_of_draws() const { return is_stochastic() && phase() != caffe::TRAIN; }
  /// Whether primitives/pooling.h can do it.
  bool is_fast(const Shape& bottom) const { return bottom.axes() == 4 && !is_stochastic(); }

  static void check_positive(const HeightWidth& size) {
    require(size.h > 0, "pooling_param.{} is 0, it must be at least 1", size.h_name);
    require(size.w > 0, "pooling_param.{} is 0, it must be at least 1", size.w_name);
  }
  static void check_pad(const char* name, std::int64_t pad, std::int64_t kernel) {
    require(pad == 0 || pad < kernel, "pooling_param.{} {} is not smaller than the kernel {}", name,
            pad, kernel);
  }

  /// By the _3d fields.
  std::vector<PoolingWindow> windows_by_axis(const Shape& bottom) const {
    const caffe::PoolingParameter& p = parameter();
    require(bottom.axes() >= 3,
            "the bottom must have 3 axes or more (N x C x spatial), not {} ({})", bottom.axes(),
            bottom.str());
    const auto axes = static_cast<std::size_t>(bottom.axes() - 2);
    const Sizes kernel = per_axis("pooling_param.kernel_size_3d", p.kernel_size_3d(), axes, 0);
    const Sizes stride = per_axis("pooling_param.stride_3d", p.stride_3d(), axes, 1);
    const Sizes pad = per_axis("pooling_param.pad_3d", p.pad_3d(), axes, 0);
    require_positive("pooling_param.kernel_size_3d", kernel);
    require_positive("pooling_param.stride_3d", stride);
    std::vector<PoolingWindow> windows;
    for (std::size_t i = 0; i < axes; ++i) {
      check_pad("pad_3d", pad[i], kernel[i]);
      windows.push_back({kernel[i], stride[i], pad[i]});
    }
    return windows;
  }

  Windows windows(const Shape& bottom) const {
    Windows w;
    if (any_axes()) {
      w.windows = windows_by_axis(bottom);
    } else {
      require(bottom.axes() == 4,
              "the bottom must have 4 axes (N x C x H x W), not {} ({}); for another number give "
              "kernel_size_3d in place of kernel_size",
              bottom.axes(), bottom.str());
      const bool global = parameter().global_pooling();
      w.windows = {{global ? bottom[2] : kernel_.h, stride_.h, pad_.h},
                   {global ? bottom[3] : kernel_.w, stride_.w, pad_.w}};
    }
    require(bottom.count_from(2) > 0, "the bottom has no pixels ({})", bottom.str());
    bool clip = false;
    for (const PoolingWindow& window : w.windows) clip = clip || window.pad > 0;
    const bool floor = parameter().round_mode() == caffe::PoolingParameter::FLOOR;
    for (std::size_t i = 0; i < w.windows.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      const std::string axis_name = bottom.axes() != 4 ? fmt::format("axis {} of size", axis)
                                    : axis == 2        ? "height"
                                                       : "width";
      w.in.push_back(bottom[axis]);
      w.out.push_back(pooled_size(axis_name, bottom[axis], w.windows[i], clip, floor));
    }
    require(is_fast(bottom) || bottom.count_from(2) < std::int64_t{1} << 31,
            "an image of 2^31 elements or more is too large ({})", bottom.str());
    return w;
  }

  PoolingShape planar_shape(const Shape& bottom, const Windows& w) const {
    PoolingShape s;
    s.method = parameter().pool() == caffe::PoolingParameter::MAX ? PoolMethod::kMax
                                                                  : PoolMethod::kAverage;
    s.batch = bottom[0];
    s.channels = bottom[1];
    s.in_h = w.in[0];
    s.in_w = w.in[1];
    s.out_h = w.out[0];
    s.out_w = w.out[1];
    s.kernel_h = w.windows[0].kernel;
    s.kernel_w = w.windows[1].kernel;
    s.stride_h = w.windows[0].stride;
    s.stride_w = w.windows[1].stride;
    s.pad_h = w.windows[0].pad;
    s.pad_w = w.windows[1].pad;
    return s;
  }

  PoolingNdShape nd_shape(const Shape& bottom, const Windows& w) const {
    using Method = PoolingNdShape::Method;
    PoolingNdShape s;
    s.method = is_mean_of_draws()                                   ? Method::kExpected
               : is_stochastic()                                    ? Method::kDraw
               : parameter().pool() == caffe::PoolingParameter::MAX ? Method::kMax
                                                                    : Method::kAverage;
    s.planes = bottom[0] * bottom[1];
    s.axes = static_cast<int>(w.in.size());
    for (std::size_t i = 0; i < w.in.size(); ++i) {
      const PoolingWindow& window = w.windows[i];
      s.axis[i] = {w.in[i], w.out[i], window.kernel, window.stride, window.pad};
    }
    return s;
  }

  HeightWidth kernel_{}, pad_{}, stride_{};  ///< of two axes, without the _3d fields
};

}  // namespace

std::unique_ptr<Layer> make_pooling(const caffe::LayerParameter& definition) {
  return std::make_unique<PoolingLayer>(definition);
}

}  // namespace crema
