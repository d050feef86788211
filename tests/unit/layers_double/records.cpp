#include "records.h"

#include <cmath>

namespace crema::test {

Shape Random::shape(std::int64_t least_axes, std::int64_t most_axes, std::int64_t largest) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(between(least_axes, most_axes)));
  const bool wide = dims.size() > 1 && between(0, 3) == 0;
  for (std::int64_t& size : dims) size = between(1, wide ? 2 : largest);
  if (wide) dims[1] = between(8, 40);
  return Shape(dims);
}

Blob Random::values(const Shape& shape, double low, double high, const std::vector<double>& kinks) {
  const double margin = (high - low) / 1000;
  // Two draws of the same shape and range have no value in common.
  const double shift = real(0, margin);
  Blob result = spread(shape, low + shift, high - margin + shift,
                       static_cast<std::uint64_t>(between(0, 1 << 30)));
  for (float& value : result.values) {
    for (const double kink : kinks) {
      if (std::abs(value - kink) < margin) value = kink + margin + std::abs(value - kink);
    }
  }
  return result;
}

Blob Random::integers(const Shape& shape, std::int64_t n) {
  Blob result{shape, {}};
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    result.values.push_back(static_cast<float>(between(0, n - 1)));
  }
  return result;
}

}  // namespace crema::test
