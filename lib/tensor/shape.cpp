#include "tensor/shape.h"

#include "base/error.h"

namespace crema {

Shape::Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {
  require(dims_.size() <= kMaxAxes, "a shape has at most {} axes, not {}", kMaxAxes, dims_.size());
  std::int64_t count = 1;
  for (const std::int64_t dim : dims_) {
    require(dim >= 0, "a dimension cannot be negative: {}", dim);
    require(!__builtin_mul_overflow(count, dim, &count) && count < (std::int64_t{1} << 62),
            "a blob of shape {} is too large", fmt::join(dims_, "x"));
  }
}

std::int64_t Shape::count(int begin, int end) const {
  std::int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= (*this)[axis];
  return product;
}

int Shape::canonical_axis(int axis) const {
  require(axis >= -axes() && axis < axes(), "axis {} does not exist in a blob of {} axes ({})",
          axis, axes(), str());
  return axis < 0 ? axis + axes() : axis;
}

Shape Shape::with(int axis, std::int64_t size) const {
  std::vector<std::int64_t> dims = dims_;
  dims[static_cast<std::size_t>(axis)] = size;
  return Shape(std::move(dims));
}

std::string Shape::str() const {
  return dims_.empty() ? "scalar" : fmt::format("{}", fmt::join(dims_, "x"));
}

}  // namespace crema
