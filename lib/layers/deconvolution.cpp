// Deconvolution (n >= 1 bottoms, as many tops; parameters W and, with bias_term, b): the transpose
// of the Convolution that maps its top to its bottom.
//
//   y[n,o,q] = b[o] + sum of x[n,c,p] * W[c,o,k] over c in group, p and k with
//              q = p*stride - pad + k*dilation
//
// Bottom: leading axes x C x d spatial axes, C at `axis`. W: C x num_output/group x kernel (the
// channels of the bottom first); b: num_output. Output size of each spatial axis: stride*(in-1) +
// dilation*(kernel-1) + 1 - 2*pad. With group = C = num_output and the bilinear filler it enlarges
// images. All bottoms have one shape and share the parameters.
//
// Zeiler et al., "Deconvolutional networks", 2010; Long et al., "Fully convolutional networks for
// semantic segmentation", 2015.
#include "primitives/deconvolution.h"
#include "base/error.h"
#include "layers/filter_layer.h"

namespace crema {
namespace {

class DeconvolutionLayer final : public FilterLayer {
 public:
  using FilterLayer::FilterLayer;

 protected:
  Sizes output_sizes(const WindowFields& windows, const Shape& bottom,
                     int first_axis) const override {
    Sizes sizes;
    for (std::size_t i = 0; i < windows.kernel.size(); ++i) {
      const std::int64_t in = bottom[first_axis + static_cast<int>(i)];
      const std::optional<std::int64_t> extent = windows.extent(i);
      std::int64_t size = 0;
      require(extent && !__builtin_mul_overflow(windows.stride[i], in - 1, &size) &&
                  !__builtin_add_overflow(size, *extent, &size) && size < std::int64_t{1} << 62,
              "the output is too large: input {} ({}), kernel {}, stride {}", in, bottom.str(),
              windows.kernel_text(i), windows.stride[i]);
      size -= 2 * windows.pad[i];
      require(size > 0,
              "nothing is left of the output: stride {} * (input {} - 1) + kernel {} - 2 * pad {} "
              "is {} ({})",
              windows.stride[i], in, windows.kernel_text(i), windows.pad[i], size, bottom.str());
      sizes.push_back(size);
    }
    return sizes;
  }
  Shape weights_of(const ConvolutionShape& shape) const override {
    return transpose_of(shape).weights();
  }
  const Sizes& window_positions(const ConvolutionShape& shape) const override { return shape.in; }
  std::vector<ConvolutionLayouts> engine_layouts(Device& device, const ConvolutionShape& shape,
                                                 bool bottom_gradient,
                                                 bool param_gradients) const override {
    return deconvolution_layouts(device, shape, bottom_gradient, param_gradients);
  }
  ConvolutionPlan plan_engine(Device& device, const ConvolutionShape& shape, const Layout& bottom,
                              const Layout& top, const Layout& weights, bool bottom_gradient,
                              bool param_gradients) const override {
    return plan_deconvolution(device, shape, bottom, top, weights, bottom_gradient,
                              param_gradients);
  }
};

}  // namespace

std::unique_ptr<Layer> make_deconvolution(const caffe::LayerParameter& definition) {
  return std::make_unique<DeconvolutionLayer>(definition);
}

}  // namespace crema
