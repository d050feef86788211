// Convolution (cross-correlation, as Caffe) forward and backward, N-D.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace crema {

/// y[n,o,p] = b[o] + sum over c in group, k of W[o,c,k] * x[n,c, p*stride - pad + k*dilation].
/// Sizes are given, never computed here: `out` may be what no formula of an engine's gives.
struct ConvolutionShape {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  std::vector<std::int64_t> in, out, kernel, stride, pad, dilation;  ///< one entry a spatial axis
  bool bias = true;

  Shape bottom() const;   ///< batch x in_channels x in
  Shape top() const;      ///< batch x out_channels x out
  Shape weights() const;  ///< out_channels x in_channels/groups x kernel
  std::int64_t multiply_adds() const;
};

/// Layouts that an engine likes, and its guess of the seconds that forward takes.
struct ConvolutionLayouts {
  Layout bottom, top, weights;
  Layout backward_weights;  ///< as backward_bottom likes them best
  double cost = 0;
};

/// A planned convolution. Tensors have the layouts that it was planned with.
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias,
                       const Tensor& top, void* scratch) = 0;
  virtual void backward_bottom(const Tensor& top_gradient, const Tensor& weights,
                               const Tensor& bottom_gradient, void* scratch) = 0;
  /// `bias_gradient` may be empty. `accumulate`: add to the weights' gradient (bias likewise:
  /// accumulate_bias).
  virtual void backward_params(const Tensor& bottom, const Tensor& top_gradient,
                               const Tensor& weight_gradient, const Tensor& bias_gradient,
                               bool accumulate, bool accumulate_bias, void* scratch) = 0;
  /// Of the hungriest of the three.
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::string engine() const = 0;
};

/// The layouts that the engines of this device would run with, fastest first; the last is plain.
/// An engine must have every gradient that is wanted: plan with the same two as here.
std::vector<ConvolutionLayouts> convolution_layouts(Device& device, const ConvolutionShape& shape,
                                                    bool bottom_gradient = true,
                                                    bool param_gradients = true);

struct ConvolutionPlan {
  std::unique_ptr<Convolution> convolution;
  std::vector<std::string> refusals;  ///< "engine: why it declined", of those tried before
};

/// The first engine that runs with these layouts. Weights in a layout other than the engine's own
/// are converted at every call.
ConvolutionPlan plan_convolution(Device& device, const ConvolutionShape& shape,
                                 const Layout& bottom, const Layout& top, const Layout& weights,
                                 bool bottom_gradient, bool param_gradients);

/// The loop version: im2col and products, plain layouts, any number of spatial axes. T is float or
/// double; the reference in tests. `columns` is scratch of loop_columns(shape) elements.
std::int64_t loop_columns(const ConvolutionShape& shape);
template <class T>
void convolution_forward_loop(const Device& device, const ConvolutionShape& shape, const T* bottom,
                              const T* weights, const T* bias, T* top, T* columns);
template <class T>
void convolution_backward_bottom_loop(const Device& device, const ConvolutionShape& shape,
                                      const T* top_gradient, const T* weights, T* bottom_gradient,
                                      T* columns);
/// Adds to the gradients; bias_gradient may be null.
template <class T>
void convolution_backward_params_loop(const Device& device, const ConvolutionShape& shape,
                                      const T* bottom, const T* top_gradient, T* weight_gradient,
                                      T* bias_gradient, T* columns);

}  // namespace crema
