// Shapes are checked where they are made: behind the constructor no count can overflow, and nobody
// has to look at the number of axes or for negative dimensions again.
#include "tensor/shape.h"

#include "base/error.h"

namespace crema {

Shape::Shape(std::span<const std::int64_t> dims) {
  require(dims.size() <= kMaxAxes, "a shape has at most {} axes, not {}", kMaxAxes, dims.size());
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    require(dim >= 0, "a dimension cannot be negative: {}", dim);
    require(!__builtin_mul_overflow(count, dim, &count) && count < (std::int64_t{1} << 62),
            "a blob of shape {} is too large", fmt::join(dims, "x"));
  }
  if (dims.size() > kFew) {
    many_.assign(dims.begin(), dims.end());
  } else {
    std::ranges::copy(dims, few_.begin());
    few_axes_ = dims.size();
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
  std::array<std::int64_t, kMaxAxes> changed;
  std::ranges::copy(dims(), changed.begin());
  changed[static_cast<std::size_t>(axis)] = size;
  return Shape(std::span<const std::int64_t>(changed.data(), dims().size()));
}

std::string Shape::str() const {
  return axes() == 0 ? "scalar" : fmt::format("{}", fmt::join(dims(), "x"));
}

}  // namespace crema
