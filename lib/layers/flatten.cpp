// Flatten (1 bottom, 1 top): the axes from `axis` to `end_axis`, both included, become one.
//
// The top is the bottom under another shape; nothing is copied. As in Caffe, an end_axis right
// before axis inserts an axis of size 1 there.
#include "layers/fields.h"
#include "layers/view.h"

namespace crema {
namespace {

class FlattenLayer final : public ReshapingLayer {
 public:
  using ReshapingLayer::ReshapingLayer;

 protected:
  Shape top_shape(const Shape& bottom) const override {
    const caffe::FlattenParameter& parameter = definition().flatten_param();
    const int first = axis_of(bottom, parameter.axis(), "flatten_param.axis");
    const int last = axis_of(bottom, parameter.end_axis(), "flatten_param.end_axis");
    require(first <= last + 1,
            "flatten_param: end_axis {} lies before axis {} in a blob of {} axes ({})",
            parameter.end_axis(), parameter.axis(), bottom.axes(), bottom.str());
    const auto dims = bottom.dims();
    std::vector<std::int64_t> top(dims.begin(), dims.begin() + first);
    top.push_back(bottom.count(first, last + 1));
    top.insert(top.end(), dims.begin() + last + 1, dims.end());
    return Shape(top);
  }
};

}  // namespace

std::unique_ptr<Layer> make_flatten(const caffe::LayerParameter& definition) {
  return std::make_unique<FlattenLayer>(definition);
}

}  // namespace crema
