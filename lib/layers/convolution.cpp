// Convolution (n >= 1 bottoms, as many tops; parameters W and, with bias_term, b).
//
//   y[n,o,p] = b[o] + sum over c in group, k of W[o,c,k] * x[n,c, p*stride - pad + k*dilation]
//
// x outside of the image counts as 0. Bottom: leading axes x C x d spatial axes, C at `axis`; the
// leading axes are independent images. W: num_output x C/group x kernel; b: num_output. Output size
// of each spatial axis: (in + 2*pad - (dilation*(kernel-1) + 1)) / stride + 1, the division cut
// towards zero. All bottoms have one shape and share the parameters.
//
// LeCun et al., "Gradient-based learning applied to document recognition", 1998; groups: Krizhevsky
// et al. 2012; dilation: Yu and Koltun 2016.
#include <algorithm>

#include "base/error.h"
#include "layers/fields.h"
#include "primitives/convolution.h"

namespace crema {
namespace {

using Sizes = std::vector<std::int64_t>;

/// A field of one value for all `axes` spatial axes or one for each.
template <class Field>
Sizes per_axis(const char* name, const Field& field, std::size_t axes, std::int64_t otherwise) {
  const auto given = static_cast<std::size_t>(field.size());
  require(
      given <= 1 || given == axes,
      "convolution_param.{} is given {} times for {} spatial axes; give it once or once an axis",
      name, given, axes);
  if (given == 0) return Sizes(axes, otherwise);
  Sizes values;
  for (std::size_t i = 0; i < axes; ++i) {
    values.push_back(static_cast<std::int64_t>(field[static_cast<int>(given == 1 ? 0 : i)]));
  }
  return values;
}

/// The fields NAME_h and NAME_w, given in place of NAME (whose values were `count`).
Sizes height_width(const char* name, const char* plain_name, int count, std::size_t axes,
                   std::int64_t h, std::int64_t w) {
  require(count == 0,
          "convolution_param.{} is given together with {}_h or {}_w; give one kind only",
          plain_name, name, name);
  require(axes == 2, "convolution_param.{}_h and {}_w are for 2 spatial axes, not {}", name, name,
          axes);
  return {h, w};
}

void require_positive(const char* name, const Sizes& values) {
  for (const std::int64_t value : values) {
    require(value > 0, "convolution_param.{} is 0, it must be at least 1", name);
  }
}

Sizes kernel_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  Sizes kernel;
  if (p.has_kernel_h() || p.has_kernel_w()) {
    require(p.has_kernel_h() && p.has_kernel_w(),
            "convolution_param.kernel_{} is missing: kernel_h and kernel_w go together",
            p.has_kernel_h() ? 'w' : 'h');
    kernel = height_width("kernel", "kernel_size", p.kernel_size_size(), axes, p.kernel_h(),
                          p.kernel_w());
  } else {
    require(p.kernel_size_size() > 0 || axes == 0, "convolution_param.kernel_size is missing");
    kernel = per_axis("kernel_size", p.kernel_size(), axes, 0);
  }
  require_positive("kernel_size", kernel);
  return kernel;
}

Sizes stride_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  Sizes stride;
  if (p.has_stride_h() || p.has_stride_w()) {
    require(p.has_stride_h() && p.has_stride_w(),
            "convolution_param.stride_{} is missing: stride_h and stride_w go together",
            p.has_stride_h() ? 'w' : 'h');
    stride = height_width("stride", "stride", p.stride_size(), axes, p.stride_h(), p.stride_w());
  } else {
    stride = per_axis("stride", p.stride(), axes, 1);
  }
  require_positive("stride", stride);
  return stride;
}

Sizes pad_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  // One of the two alone is legal here; the other is 0.
  if (p.has_pad_h() || p.has_pad_w()) {
    return height_width("pad", "pad", p.pad_size(), axes, p.pad_h(), p.pad_w());
  }
  return per_axis("pad", p.pad(), axes, 0);
}

/// What the primitive computes, for one shape of bottom.
struct Geometry {
  ConvolutionShape shape;
  /// False: the leading axes are not one, or there is no spatial axis, so that the blob must be
  /// seen under another shape, which only plain ones can.
  bool as_is = true;
  Shape top, weights;
};

Geometry geometry(const caffe::ConvolutionParameter& p, const Shape& bottom) {
  const int axis = axis_of(bottom, p.axis(), "convolution_param.axis");
  const auto axes = static_cast<std::size_t>(bottom.axes() - axis - 1);
  Geometry g;
  ConvolutionShape& s = g.shape;
  s.batch = bottom.count(0, axis);
  s.in_channels = bottom[axis];
  s.out_channels =
      num_output_of(p.has_num_output(), p.num_output(), "convolution_param.num_output");
  s.groups = p.group();
  s.bias = p.bias_term();
  require(s.groups > 0, "convolution_param.group is 0, it must be at least 1");
  require(s.in_channels % s.groups == 0,
          "convolution_param.group {} does not divide the {} channels of the bottom ({})", s.groups,
          s.in_channels, bottom.str());
  require(s.out_channels % s.groups == 0,
          "convolution_param.group {} does not divide num_output {}", s.groups, s.out_channels);
  s.kernel = kernel_of(p, axes);
  s.stride = stride_of(p, axes);
  s.pad = pad_of(p, axes);
  s.dilation = per_axis("dilation", p.dilation(), axes, 1);
  require_positive("dilation", s.dilation);

  std::vector<std::int64_t> top(bottom.dims().begin(), bottom.dims().begin() + axis);
  std::vector<std::int64_t> weights = {s.out_channels, s.in_channels / s.groups};
  top.push_back(s.out_channels);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t in = bottom[axis + 1 + static_cast<int>(i)];
    const std::int64_t padded = padded_size(in, s.pad[i]);
    std::int64_t extent = 0;
    const bool endless = __builtin_mul_overflow(s.dilation[i], s.kernel[i] - 1, &extent) ||
                         __builtin_add_overflow(extent, std::int64_t{1}, &extent);
    const std::int64_t out = endless ? 0 : (padded - extent) / s.stride[i] + 1;
    require(out > 0,
            "the kernel {}{} is larger than the padded input: input {} ({}), pad {} on both sides",
            s.kernel[i],
            s.dilation[i] > 1 ? fmt::format(" (dilation {}{})", s.dilation[i],
                                            endless ? "" : fmt::format(", so {}", extent))
                              : "",
            in, bottom.str(), s.pad[i]);
    s.in.push_back(in);
    s.out.push_back(out);
    top.push_back(out);
    weights.push_back(s.kernel[i]);
  }
  g.top = Shape(std::move(top));
  g.weights = Shape(std::move(weights));
  if (axes == 0) {
    // An inner product over channels: a 1-D convolution of one position.
    for (Sizes* sizes : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation}) sizes->push_back(1);
    s.pad.push_back(0);
  }
  g.as_is = axes > 0 && axis == 1;
  return g;
}

bool any(const std::vector<char>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](char flag) { return flag != 0; });
}

class ConvolutionOp final : public Op {
 public:
  ConvolutionOp(const PlanRequest& request, const Geometry& geometry) : geometry_(geometry) {
    const bool bottom_gradient = any(request.bottom_gradients);
    const bool param_gradient = any(request.param_gradients);
    ConvolutionPlan plan = plan_convolution(
        request.device, geometry.shape, request.bottom_layouts[0], request.top_layouts[0],
        request.param_layouts[0], bottom_gradient, param_gradient);
    convolution_ = std::move(plan.convolution);
    refusals_ = std::move(plan.refusals);
    engine_ = convolution_->engine();
    // Engines compute both gradients of parameters in one go. Where only that of the bias is
    // wanted, the other goes where nobody looks.
    spare_ = (convolution_->scratch_bytes() + 63) / 64 * 64;
    scratch_bytes_ = spare_;
    if (param_gradient && request.param_gradients[0] == 0) {
      scratch_bytes_ +=
          static_cast<std::size_t>(request.param_layouts[0].elements(geometry.shape.weights())) *
          sizeof(float);
    }
  }

  void forward(const RunContext& run) override {
    const Tensor weights = weights_view(run.params[0]);
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      convolution_->forward(bottom_view(run.bottoms[i]), weights, bias_of(run.params),
                            top_view(run.tops[i]), run.scratch);
    }
  }

  void backward(const RunContext& run) override {
    const Tensor weights = weights_view(run.params[0]);
    backward_params(run);
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      if (!run.bottom_gradients[i]) continue;
      if (run.top_gradients[i]) {
        convolution_->backward_bottom(top_view(run.top_gradients[i]), weights,
                                      bottom_view(run.bottom_gradients[i]), run.scratch);
      } else {
        run.bottom_gradients[i].fill_zero();
      }
    }
  }

 private:
  static Tensor bias_of(const std::vector<Tensor>& params) {
    return params.size() > 1 ? params[1] : Tensor();
  }
  Tensor bottom_view(const Tensor& tensor) const {
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.shape.bottom());
  }
  Tensor top_view(const Tensor& tensor) const {
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.shape.top());
  }
  Tensor weights_view(const Tensor& tensor) const {
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.shape.weights());
  }

  void backward_params(const RunContext& run) {
    Tensor weight_gradient = weights_view(run.param_gradients[0]);
    const Tensor bias_gradient = bias_of(run.param_gradients);
    if (!weight_gradient && !bias_gradient) return;
    bool add = run.accumulate[0] != 0;
    bool add_bias = bias_gradient && run.accumulate[1] != 0;
    if (!weight_gradient) {
      const Tensor weights = weights_view(run.params[0]);
      weight_gradient = Tensor(run.device, weights.shape(), weights.layout(),
                               reinterpret_cast<float*>(static_cast<char*>(run.scratch) + spare_));
      add = false;
    }
    bool any = false;
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      if (!run.top_gradients[i]) continue;
      convolution_->backward_params(bottom_view(run.bottoms[i]), top_view(run.top_gradients[i]),
                                    weight_gradient, bias_gradient, add, add_bias, run.scratch);
      any = add = add_bias = true;
    }
    if (any) return;
    if (!add) weight_gradient.fill_zero();
    if (bias_gradient && !add_bias) bias_gradient.fill_zero();
  }

  Geometry geometry_;
  std::unique_ptr<Convolution> convolution_;
  std::size_t spare_ = 0;  ///< where in scratch the unwanted gradient of the weights goes
};

class ConvolutionLayer final : public Layer {
 public:
  explicit ConvolutionLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, parameter().engine() == caffe::ConvolutionParameter::CUDNN,
                "convolution_param.engine");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    for (std::size_t i = 1; i < bottoms.size(); ++i) {
      require(bottoms[i] == bottoms[0],
              "all bottoms must have one shape: bottom 0 is {}, bottom {} is {}", bottoms[0].str(),
              i, bottoms[i].str());
    }
    const Geometry g = geometry(parameter(), bottoms[0]);
    Inference inference;
    inference.tops.assign(bottoms.size(), g.top);
    inference.params.push_back(
        param_def(g.weights, parameter().weight_filler(), "convolution_param.weight_filler"));
    if (g.shape.bias) {
      inference.params.push_back(param_def({g.shape.out_channels}, parameter().bias_filler(),
                                           "convolution_param.bias_filler"));
    }
    inference.multiply_adds = work_of(
        {g.top.count(), g.weights.count_from(1), static_cast<std::int64_t>(bottoms.size())});
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    const Geometry g = geometry(parameter(), request.bottoms[0]);
    if (!g.as_is) return {plain_choice(request)};
    std::vector<LayoutChoice> choices;
    for (const ConvolutionLayouts& l :
         convolution_layouts(request.device, g.shape, any(request.bottom_gradients),
                             any(request.param_gradients))) {
      LayoutChoice choice = plain_choice(request);
      std::fill(choice.bottoms.begin(), choice.bottoms.end(), l.bottom);
      std::fill(choice.tops.begin(), choice.tops.end(), l.top);
      choice.params[0] = l.weights;
      choice.cost = l.cost * static_cast<double>(request.bottoms.size());
      choices.push_back(std::move(choice));
    }
    return choices;
  }

  bool converts_params() const override { return true; }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<ConvolutionOp>(request, geometry(parameter(), request.bottoms[0]));
  }

 private:
  const caffe::ConvolutionParameter& parameter() const { return definition().convolution_param(); }
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const caffe::LayerParameter& definition) {
  return std::make_unique<ConvolutionLayer>(definition);
}

}  // namespace crema
