// What Convolution and Deconvolution have in common: learned filters on windows that move over the
// spatial axes, in groups, for several bottoms of one shape that share the parameters W and b.
#pragma once

#include <memory>
#include <vector>

#include "layers/fields.h"
#include "layers/layer.h"
#include "layers/window_fields.h"
#include "primitives/convolution.h"

namespace crema {

class FilterLayer : public Layer {
 public:
  explicit FilterLayer(const caffe::LayerParameter& definition);

  Inference infer(const std::vector<Shape>& bottoms) const final;
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const final;
  bool converts_params() const final { return true; }
  std::unique_ptr<Op> plan(const PlanRequest& request) const final;

  /// What the engine computes for one shape of bottom, and how the layer's blobs are seen by it.
  struct Geometry {
    ConvolutionShape shape;
    /// The blobs as the engine has them. Without as_is these differ from the layer's (the leading
    /// axes are not one, or there is no spatial axis), which only plain ones can.
    Shape bottom_view, top_view, weights_view;
    bool as_is = true;
    Shape top, weights;  ///< the layer's own
    std::int64_t multiply_adds = 0;
  };

 protected:
  /// Sizes of the top's spatial axes; those of the bottom begin at `first_axis`.
  virtual Sizes output_sizes(const WindowFields& windows, const Shape& bottom,
                             int first_axis) const = 0;
  virtual Shape weights_of(const ConvolutionShape& shape) const = 0;
  /// The spatial sizes over which windows move, each of them meeting the whole of W.
  virtual const Sizes& window_positions(const ConvolutionShape& shape) const = 0;
  virtual std::vector<ConvolutionLayouts> engine_layouts(Device& device,
                                                         const ConvolutionShape& shape,
                                                         bool bottom_gradient,
                                                         bool param_gradients) const = 0;
  virtual ConvolutionPlan plan_engine(Device& device, const ConvolutionShape& shape,
                                      const Layout& bottom, const Layout& top,
                                      const Layout& weights, bool bottom_gradient,
                                      bool param_gradients) const = 0;

 private:
  const caffe::ConvolutionParameter& parameter() const { return definition().convolution_param(); }
  Geometry geometry(const Shape& bottom) const;
};

}  // namespace crema
