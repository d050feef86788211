// The layer's blobs are brought into the form that the engines know: batch x channels x spatial,
// one at least. Whatever differs between the two layers is asked of the derived class.
#include "layers/filter_layer.h"

#include <algorithm>

#include "base/error.h"

namespace crema {
namespace {

using Geometry = FilterLayer::Geometry;

bool any(const std::vector<char>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](char flag) { return flag != 0; });
}

class FilterOp final : public Op {
 public:
  FilterOp(const PlanRequest& request, Geometry geometry, ConvolutionPlan plan)
      : geometry_(std::move(geometry)), convolution_(std::move(plan.convolution)) {
    refusals_ = std::move(plan.refusals);
    engine_ = convolution_->engine();
    // Engines compute both gradients of parameters in one go. Where only that of the bias is
    // wanted, the other goes where nobody looks.
    spare_ = (convolution_->scratch_bytes() + 63) / 64 * 64;
    scratch_bytes_ = spare_;
    if (any(request.param_gradients) && request.param_gradients[0] == 0) {
      scratch_bytes_ +=
          static_cast<std::size_t>(request.param_layouts[0].elements(geometry_.weights_view)) *
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
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.bottom_view);
  }
  Tensor top_view(const Tensor& tensor) const {
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.top_view);
  }
  Tensor weights_view(const Tensor& tensor) const {
    return geometry_.as_is ? tensor : with_shape(tensor, geometry_.weights_view);
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
    bool given = false;
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      if (!run.top_gradients[i]) continue;
      convolution_->backward_params(bottom_view(run.bottoms[i]), top_view(run.top_gradients[i]),
                                    weight_gradient, bias_gradient, add, add_bias, run.scratch);
      given = add = add_bias = true;
    }
    if (given) return;
    if (!add) weight_gradient.fill_zero();
    if (bias_gradient && !add_bias) bias_gradient.fill_zero();
  }

  Geometry geometry_;
  std::unique_ptr<Convolution> convolution_;
  std::size_t spare_ = 0;  ///< where in scratch the unwanted gradient of the weights goes
};

}  // namespace

FilterLayer::FilterLayer(const caffe::LayerParameter& definition) : Layer(definition) {
  note_engine(*this, parameter().engine() == caffe::ConvolutionParameter::CUDNN,
              "convolution_param.engine");
}

Geometry FilterLayer::geometry(const Shape& bottom) const {
  const caffe::ConvolutionParameter& p = parameter();
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
  WindowFields windows = window_fields(p, axes);
  s.in.assign(bottom.dims().begin() + axis + 1, bottom.dims().end());
  s.out = output_sizes(windows, bottom, axis + 1);
  s.kernel = std::move(windows.kernel);
  s.stride = std::move(windows.stride);
  s.pad = std::move(windows.pad);
  s.dilation = std::move(windows.dilation);

  std::vector<std::int64_t> top(bottom.dims().begin(), bottom.dims().begin() + axis);
  top.push_back(s.out_channels);
  top.insert(top.end(), s.out.begin(), s.out.end());
  g.top = Shape(std::move(top));
  g.weights = weights_of(s);
  g.multiply_adds = work_of({s.batch, Shape(window_positions(s)).count(), g.weights.count()});
  if (axes == 0) {
    // An inner product over channels: a 1-D convolution of one position.
    for (Sizes* sizes : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation}) sizes->push_back(1);
    s.pad.push_back(0);
  }
  g.as_is = axes > 0 && axis == 1;
  g.bottom_view = s.bottom();
  g.top_view = s.top();
  g.weights_view = weights_of(s);
  return g;
}

Inference FilterLayer::infer(const std::vector<Shape>& bottoms) const {
  for (std::size_t i = 1; i < bottoms.size(); ++i) {
    require(bottoms[i] == bottoms[0],
            "all bottoms must have one shape: bottom 0 is {}, bottom {} is {}", bottoms[0].str(), i,
            bottoms[i].str());
  }
  const Geometry g = geometry(bottoms[0]);
  Inference inference;
  inference.tops.assign(bottoms.size(), g.top);
  inference.params.push_back(
      param_def(g.weights, parameter().weight_filler(), "convolution_param.weight_filler"));
  if (g.shape.bias) {
    inference.params.push_back(param_def({g.shape.out_channels}, parameter().bias_filler(),
                                         "convolution_param.bias_filler"));
  }
  inference.multiply_adds = work_of({g.multiply_adds, static_cast<std::int64_t>(bottoms.size())});
  return inference;
}

std::vector<LayoutChoice> FilterLayer::layouts(const LayoutRequest& request) const {
  const Geometry g = geometry(request.bottoms[0]);
  if (!g.as_is) return {plain_choice(request)};
  std::vector<LayoutChoice> choices;
  for (const ConvolutionLayouts& l : engine_layouts(
           request.device, g.shape, any(request.bottom_gradients), any(request.param_gradients))) {
    LayoutChoice choice = plain_choice(request);
    std::fill(choice.bottoms.begin(), choice.bottoms.end(), l.bottom);
    std::fill(choice.tops.begin(), choice.tops.end(), l.top);
    choice.params[0] = l.weights;
    choice.cost = l.cost * static_cast<double>(request.bottoms.size());
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<Op> FilterLayer::plan(const PlanRequest& request) const {
  Geometry g = geometry(request.bottoms[0]);
  ConvolutionPlan plan = plan_engine(request.device, g.shape, request.bottom_layouts[0],
                                     request.top_layouts[0], request.param_layouts[0],
                                     any(request.bottom_gradients), any(request.param_gradients));
  return std::make_unique<FilterOp>(request, std::move(g), std::move(plan));
}

}  // namespace crema
