// Reshape (1 bottom, 1 top): the axes [axis, axis + num_axes) of the bottom are replaced by the
// dimensions of `shape`.
//
// A negative axis counts from one past the last (-1 is after the last axis); num_axes -1 means all
// from axis on. A dimension 0 copies the bottom's dimension at axis + its own position, one -1 is
// what remains. The count does not change, and the top is the bottom under another shape: nothing
// is copied.
#include "layers/fields.h"
#include "layers/view.h"

namespace crema {
namespace {

class ReshapeLayer final : public ReshapingLayer {
 public:
  explicit ReshapeLayer(const caffe::LayerParameter& definition) : ReshapingLayer(definition) {
    int inferred = 0;
    for (const std::int64_t dim : parameter().shape().dim()) {
      require(dim >= -1,
              "reshape_param.shape: dim {} is neither a size nor 0 (copied) nor -1 (inferred)",
              dim);
      inferred += dim == -1 ? 1 : 0;
    }
    require(inferred <= 1, "reshape_param.shape has {} dims of -1; only one can be inferred",
            inferred);
    require(parameter().num_axes() >= -1,
            "reshape_param.num_axes {} must be at least 0, or -1 for all axes from axis on",
            parameter().num_axes());
  }

 protected:
  Shape top_shape(const Shape& bottom) const override {
    const int first = first_axis(bottom), end = end_axis(bottom, first);
    const auto dims = bottom.dims();
    std::vector<std::int64_t> top(dims.begin(), dims.begin() + first);
    std::ptrdiff_t inferred = -1;
    for (int i = 0; i < parameter().shape().dim_size(); ++i) {
      const std::int64_t dim = parameter().shape().dim(i);
      if (dim == -1) inferred = static_cast<std::ptrdiff_t>(top.size());
      top.push_back(dim == 0 ? copied(bottom, first + i, i) : dim);
    }
    top.insert(top.end(), dims.begin() + end, dims.end());
    if (inferred >= 0) {
      top[static_cast<std::size_t>(inferred)] = 1;
      top[static_cast<std::size_t>(inferred)] = remaining(bottom, Shape(top));
    }
    Shape shape(top);
    require(shape.count() == bottom.count(),
            "the bottom has {} values ({}), but reshape_param.shape makes it {} ({})",
            bottom.count(), bottom.str(), shape.count(), shape.str());
    return shape;
  }

 private:
  const caffe::ReshapeParameter& parameter() const { return definition().reshape_param(); }

  int first_axis(const Shape& bottom) const {
    const int axis = parameter().axis(), axes = bottom.axes();
    require(axis >= -axes - 1 && axis <= axes,
            "reshape_param.axis {} is not in {}..{} for a blob of {} axes ({}); -1 is after the "
            "last axis",
            axis, -axes - 1, axes, axes, bottom.str());
    return axis >= 0 ? axis : axes + axis + 1;
  }

  int end_axis(const Shape& bottom, int first) const {
    const int count = parameter().num_axes();
    if (count == -1) return bottom.axes();
    require(count <= bottom.axes() - first,
            "reshape_param.num_axes {} from axis {} on is more than the blob has ({})", count,
            first, bottom.str());
    return first + count;
  }

  static std::int64_t copied(const Shape& bottom, int axis, int position) {
    require(axis < bottom.axes(),
            "reshape_param.shape: dim {} is 0, which copies axis {} of the bottom, but that has "
            "{} axes ({})",
            position, axis, bottom.axes(), bottom.str());
    return bottom[axis];
  }

  /// What -1 stands for; the dims of `others` have a 1 in its place.
  static std::int64_t remaining(const Shape& bottom, const Shape& others) {
    std::int64_t values = bottom.count(), product = others.count();
    if (product == 0) {
      // An empty blob whose empty axis is kept: what remains of the others.
      values = count_without_zeros(bottom);
      product = count_without_zeros(others);
    }
    require(values % product == 0,
            "reshape_param.shape: the -1 cannot be inferred, since the {} values of the bottom "
            "({}) are no multiple of the other dims' {}",
            values, bottom.str(), product);
    return values / product;
  }
  static std::int64_t count_without_zeros(const Shape& shape) {
    std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
    for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    return Shape(dims).count();
  }
};

}  // namespace

std::unique_ptr<Layer> make_reshape(const caffe::LayerParameter& definition) {
  return std::make_unique<ReshapeLayer>(definition);
}

}  // namespace crema
