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
#include "layers/filter_layer.h"

namespace crema {
namespace {

class ConvolutionLayer final : public FilterLayer {
 public:
  using FilterLayer::FilterLayer;

 protected:
  Sizes output_sizes(const WindowFields& windows, const Shape& bottom,
                     int first_axis) const override {
    return window_counts(windows, bottom, first_axis);
  }
  Shape weights_of(const ConvolutionShape& shape) const override { return shape.weights(); }
  const Sizes& window_positions(const ConvolutionShape& shape) const override { return shape.out; }
  std::vector<ConvolutionLayouts> engine_layouts(Device& device, const ConvolutionShape& shape,
                                                 bool bottom_gradient,
                                                 bool param_gradients) const override {
    return convolution_layouts(device, shape, bottom_gradient, param_gradients);
  }
  ConvolutionPlan plan_engine(Device& device, const ConvolutionShape& shape, const Layout& bottom,
                              const Layout& top, const Layout& weights, bool bottom_gradient,
                              bool param_gradients) const override {
    return plan_convolution(device, shape, bottom, top, weights, bottom_gradient, param_gradients);
  }
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const caffe::LayerParameter& definition) {
  return std::make_unique<ConvolutionLayer>(definition);
}

}  // namespace crema
