// oneDNN's direct kernels, channels-last, in the layouts that it likes best for the weights. What
// it would run by a reference implementation or by im2col is left to our loop.
#include "primitives/cpu/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/blas.h"
#include "kernels/thread_scope.h"
#include "primitives/cpu/dnnl_support.h"
#include "primitives/layouts.h"

namespace crema::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

/// A convolution in oneDNN's words.
struct Terms {
  explicit Terms(const ConvolutionShape& shape) {
    const memory::format_tag tags[] = {memory::format_tag::nwc, memory::format_tag::nhwc,
                                       memory::format_tag::ndhwc};
    const memory::format_tag tag = tags[shape.in.size() - 1];
    const auto f32 = memory::data_type::f32;
    bottom = memory::desc(dims_of(shape.bottom()), f32, tag);
    top = memory::desc(dims_of(shape.top()), f32, tag);
    memory::dims weight_dims = dims_of(shape.weights());
    if (shape.groups > 1) {
      weight_dims[0] /= shape.groups;
      weight_dims.insert(weight_dims.begin(), shape.groups);
    }
    weights = memory::desc(weight_dims, f32, memory::format_tag::any);
    bias = memory::desc({shape.out_channels}, f32, memory::format_tag::x);
    stride = shape.stride;
    pad_left = shape.pad;
    for (std::size_t i = 0; i < shape.in.size(); ++i) {
      dilation.push_back(shape.dilation[i] - 1);
      // What the given output size needs; less than nothing where the last inputs are not looked
      // at.
      pad_right.push_back((shape.out[i] - 1) * shape.stride[i] +
                          (shape.kernel[i] - 1) * shape.dilation[i] + 1 - shape.in[i] -
                          shape.pad[i]);
    }
  }

  memory::desc bottom, top, weights, bias;
  memory::dims stride, dilation, pad_left, pad_right;
};

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

Forward::primitive_desc forward_plan(const Terms& t, bool bias, const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_training;
  const Forward::desc desc =
      bias ? Forward::desc(kind, kAlgorithm, t.bottom, t.weights, t.bias, t.top, t.stride,
                           t.dilation, t.pad_left, t.pad_right)
           : Forward::desc(kind, kAlgorithm, t.bottom, t.weights, t.top, t.stride, t.dilation,
                           t.pad_left, t.pad_right);
  return {desc, user_scratchpad(), engine};
}

BackwardData::primitive_desc bottom_plan(const Terms& t, const dnnl::engine& engine,
                                         const Forward::primitive_desc& forward) {
  const BackwardData::desc desc(kAlgorithm, t.bottom, t.weights, t.top, t.stride, t.dilation,
                                t.pad_left, t.pad_right);
  return {desc, user_scratchpad(), engine, forward};
}

BackwardWeights::primitive_desc params_plan(const Terms& t, bool bias, const dnnl::engine& engine,
                                            const Forward::primitive_desc& forward) {
  const BackwardWeights::desc desc =
      bias ? BackwardWeights::desc(kAlgorithm, t.bottom, t.weights, t.bias, t.top, t.stride,
                                   t.dilation, t.pad_left, t.pad_right)
           : BackwardWeights::desc(kAlgorithm, t.bottom, t.weights, t.top, t.stride, t.dilation,
                                   t.pad_left, t.pad_right);
  return {desc, user_scratchpad(), engine, forward};
}

/// oneDNN's reference implementations are slower than our loop.
bool is_reference(const std::string& implementation) { return implementation.starts_with("ref"); }

/// Its im2col is no better than ours, which spares the change of layout.
bool is_im2col(const std::string& implementation) {
  return implementation.starts_with("gemm") || implementation.find(":gemm:") != std::string::npos;
}

/// Why oneDNN is not to be asked at all; empty if it may be.
std::string shape_refusal(const ConvolutionShape& shape, bool param_gradients) {
  const std::size_t axes = shape.in.size();
  if (axes < 1 || axes > 3) return fmt::format("it has 1 to 3 spatial axes, not {}", axes);
  if (shape.bottom().count() == 0 || shape.top().count() == 0) return "the blob is empty";
  // oneDNN 2.6 on AVX2: the gradient of such weights is written past the end of the scratchpad.
  const bool pointwise = std::all_of(shape.kernel.begin(), shape.kernel.end(),
                                     [](std::int64_t size) { return size == 1; });
  const bool strided = std::any_of(shape.stride.begin(), shape.stride.end(),
                                   [](std::int64_t stride) { return stride > 1; });
  if (param_gradients && pointwise && strided && shape.in_channels < 8) {
    return "the gradient of a strided 1x1 kernel on fewer than 8 channels";
  }
  return "";
}

struct Plans {
  Forward::primitive_desc forward;
  BackwardData::primitive_desc bottom;
  BackwardWeights::primitive_desc params;
};

/// Plans of forward and of the gradients that are wanted, or nothing and why not.
std::optional<Plans> make_plans(Device& device, const ConvolutionShape& shape, bool bottom_gradient,
                                bool param_gradients, std::string* refusal) {
  *refusal = shape_refusal(shape, param_gradients);
  if (!refusal->empty()) return std::nullopt;
  const dnnl::engine& engine = device.backend<DnnlBackend>().engine;
  const ThreadScope threads(device);
  Plans plans;
  // im2col is turned down for forward alone: a first layer's bottom gradient, which nobody wants,
  // must not cost the rest its fast kernels.
  const auto slow = [refusal](const char* pass, const std::string& implementation, bool im2col) {
    if (!is_reference(implementation) && !(im2col && is_im2col(implementation))) return false;
    *refusal = fmt::format("{} would run as \"{}\"", pass, implementation);
    return true;
  };
  const char* pass = "forward";
  try {
    const Terms terms(shape);
    plans.forward = forward_plan(terms, shape.bias, engine);
    if (slow(pass, plans.forward.impl_info_str(), true)) return std::nullopt;
    pass = "the gradient of the bottom";
    if (bottom_gradient) {
      plans.bottom = bottom_plan(terms, engine, plans.forward);
      if (slow(pass, plans.bottom.impl_info_str(), false)) return std::nullopt;
    }
    pass = "the gradient of the weights";
    if (param_gradients) {
      plans.params = params_plan(terms, shape.bias, engine, plans.forward);
      if (slow(pass, plans.params.impl_info_str(), false)) return std::nullopt;
    }
  } catch (const dnnl::error& error) {
    *refusal = fmt::format("{}: {}", pass, error.what());
    return std::nullopt;
  }
  return plans;
}

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

class OnednnConvolution final : public Convolution {
 public:
  OnednnConvolution(Device& device, const ConvolutionShape& shape, const Layout& weights,
                    const Plans& plans)
      : device_(device),
        backend_(device.backend<DnnlBackend>()),
        weights_shape_(shape.weights()),
        weights_layout_(weights),
        engine_(fmt::format("onednn {}", plans.forward.impl_info_str())),
        out_channels_(shape.out_channels),
        bias_(shape.bias) {
    const ThreadScope threads(device);
    memory::desc bias;
    if (shape.bias) {
      bias = memory::desc({shape.out_channels}, memory::data_type::f32, memory::format_tag::x);
    }
    const memory::desc bottom = plans.forward.src_desc();
    const memory::desc top = plans.forward.dst_desc();
    forward_ = Pass(plans.forward.weights_desc(), plans.forward.scratchpad_desc());
    forward_.call = DnnlCall(backend_.engine, Forward(plans.forward),
                             {{DNNL_ARG_SRC, bottom},
                              {DNNL_ARG_WEIGHTS, plans.forward.weights_desc()},
                              {DNNL_ARG_BIAS, bias},
                              {DNNL_ARG_DST, top},
                              {DNNL_ARG_SCRATCHPAD, plans.forward.scratchpad_desc()}});
    if (plans.bottom) {
      backward_bottom_ = Pass(plans.bottom.weights_desc(), plans.bottom.scratchpad_desc());
      backward_bottom_.call = DnnlCall(backend_.engine, BackwardData(plans.bottom),
                                       {{DNNL_ARG_DIFF_DST, top},
                                        {DNNL_ARG_WEIGHTS, plans.bottom.weights_desc()},
                                        {DNNL_ARG_DIFF_SRC, bottom},
                                        {DNNL_ARG_SCRATCHPAD, plans.bottom.scratchpad_desc()}});
    }
    if (plans.params) {
      backward_params_ = Pass(plans.params.diff_weights_desc(), plans.params.scratchpad_desc());
      backward_params_.call = DnnlCall(backend_.engine, BackwardWeights(plans.params),
                                       {{DNNL_ARG_SRC, bottom},
                                        {DNNL_ARG_DIFF_DST, top},
                                        {DNNL_ARG_DIFF_WEIGHTS, plans.params.diff_weights_desc()},
                                        {DNNL_ARG_DIFF_BIAS, bias},
                                        {DNNL_ARG_SCRATCHPAD, plans.params.scratchpad_desc()}});
    }
  }

  void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias, const Tensor& top,
               void* scratch) override {
    Arena arena(scratch);
    const float* const w = weights_for(forward_, weights, arena);
    const float* const b = bias_ ? bias.read() : nullptr;
    forward_.call.run(device_, backend_,
                      {bottom.read(), w, b, top.write(), arena.bytes(forward_.scratchpad_bytes)});
  }

  void backward_bottom(const Tensor& top_gradient, const Tensor& weights,
                       const Tensor& bottom_gradient, void* scratch) override {
    Arena arena(scratch);
    Pass& pass = backward_bottom_;
    const float* const w = weights_for(pass, weights, arena);
    pass.call.run(
        device_, backend_,
        {top_gradient.read(), w, bottom_gradient.write(), arena.bytes(pass.scratchpad_bytes)});
  }

  void backward_params(const Tensor& bottom, const Tensor& top_gradient,
                       const Tensor& weight_gradient, const Tensor& bias_gradient, bool accumulate,
                       bool accumulate_bias, void* scratch) override {
    Arena arena(scratch);
    Pass& pass = backward_params_;
    const bool own_layout = pass.weights_layout == weights_layout_;
    const bool weights_direct = weight_gradient && own_layout && !accumulate;
    float* const dw = weights_direct ? weight_gradient.write() : arena.floats(weights_of(pass));
    const bool bias_direct = bias_gradient && !accumulate_bias;
    float* const db = bias_direct ? bias_gradient.write() : arena.floats(out_channels_);
    // Its scratchpad and the converted gradient are never needed at one time.
    Arena scratchpad = arena;
    pass.call.run(
        device_, backend_,
        {bottom.read(), top_gradient.read(), dw, db, scratchpad.bytes(pass.scratchpad_bytes)});

    if (bias_gradient && !bias_direct) axpy(device_, out_channels_, 1, db, bias_gradient.update());
    if (!weight_gradient || weights_direct) return;
    const Tensor gradient(device_, weights_shape_, pass.weights_layout, dw);
    if (!accumulate) {
      reorder(gradient, weight_gradient);
      return;
    }
    const float* sum = dw;
    if (!own_layout) {
      const Tensor converted(device_, weights_shape_, weights_layout_,
                             arena.floats(weights_layout_.elements(weights_shape_)));
      reorder(gradient, converted);
      sum = converted.read();
    }
    axpy(device_, weight_gradient.elements(), 1, sum, weight_gradient.update());
  }

  std::size_t scratch_bytes() const override {
    const auto weights_bytes = [this](const Pass& pass) {
      return rounded(static_cast<std::size_t>(weights_of(pass)) * sizeof(float));
    };
    std::size_t most = 0;
    for (const Pass* pass : {&forward_, &backward_bottom_}) {
      if (!pass->call) continue;
      const bool converts = !(pass->weights_layout == weights_layout_);
      most = std::max(most, pass->scratchpad_bytes + (converts ? weights_bytes(*pass) : 0));
    }
    if (backward_params_.call) {
      const auto planned =
          static_cast<std::size_t>(weights_layout_.elements(weights_shape_)) * sizeof(float);
      most = std::max(most, weights_bytes(backward_params_) +
                                rounded(static_cast<std::size_t>(out_channels_) * sizeof(float)) +
                                std::max(backward_params_.scratchpad_bytes, planned));
    }
    return most;
  }

  std::string engine() const override { return engine_; }

 private:
  /// Hands out pieces of the scratch of one call.
  class Arena {
   public:
    explicit Arena(void* memory) : next_(static_cast<char*>(memory)) {}
    float* floats(std::int64_t count) {
      return static_cast<float*>(bytes(static_cast<std::size_t>(count) * sizeof(float)));
    }
    void* bytes(std::size_t size) {
      if (size == 0) return nullptr;
      return std::exchange(next_, next_ + rounded(size));
    }

   private:
    char* next_;
  };

  struct Pass {
    Pass() = default;
    Pass(const memory::desc& weights, const memory::desc& scratchpad)
        : weights_layout(layout_of(weights)), scratchpad_bytes(scratchpad.get_size()) {}

    Layout weights_layout;
    std::size_t scratchpad_bytes = 0;
    DnnlCall call;
  };

  std::int64_t weights_of(const Pass& pass) const {
    return pass.weights_layout.elements(weights_shape_);
  }

  /// The weights as a pass wants them, converted into scratch if they lie otherwise.
  const float* weights_for(const Pass& pass, const Tensor& weights, Arena& arena) const {
    if (pass.weights_layout == weights_layout_) return weights.read();
    float* const converted = arena.floats(weights_of(pass));
    reorder(weights, Tensor(device_, weights_shape_, pass.weights_layout, converted));
    return converted;
  }

  Device& device_;
  DnnlBackend& backend_;
  Shape weights_shape_;
  Layout weights_layout_;
  std::string engine_;
  std::int64_t out_channels_;
  bool bias_;
  Pass forward_, backward_bottom_, backward_params_;
};

}  // namespace

std::optional<ConvolutionLayouts> onednn_convolution_layouts(Device& device,
                                                             const ConvolutionShape& shape,
                                                             bool bottom_gradient,
                                                             bool param_gradients) {
  std::string refusal;  // make_onednn_convolution() will say it
  const std::optional<Plans> plans =
      make_plans(device, shape, bottom_gradient, param_gradients, &refusal);
  if (!plans) return std::nullopt;
  ConvolutionLayouts layouts;
  layouts.bottom = channels_last(shape.bottom());
  layouts.top = channels_last(shape.top());
  layouts.weights = layout_of(plans->forward.weights_desc());
  if (plans->bottom) layouts.backward_weights = layout_of(plans->bottom.weights_desc());
  return layouts;
}

std::unique_ptr<Convolution> make_onednn_convolution(Device& device, const ConvolutionShape& shape,
                                                     const Layout& bottom, const Layout& top,
                                                     const Layout& weights, bool bottom_gradient,
                                                     bool param_gradients, std::string* refusal) {
  const std::optional<Plans> plans =
      make_plans(device, shape, bottom_gradient, param_gradients, refusal);
  if (!plans) return nullptr;
  if (!(bottom == channels_last(shape.bottom()) && top == channels_last(shape.top()))) {
    *refusal = fmt::format("it wants channels-last, not {} to {}", bottom.name(), top.name());
    return nullptr;
  }
  return std::make_unique<OnednnConvolution>(device, shape, weights, *plans);
}

}  // namespace crema::cpu
