// A blob seen as outer x classes x inner, for layers that work along one axis (softmax, accuracy).
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {

struct ClassAxis {
  std::int64_t outer = 1, classes = 1, inner = 1;

  /// How it lies in plain memory.
  static ClassAxis of(const Shape& shape, int axis, const char* field) {
    const int a = axis_of(shape, axis, field);
    require(shape[a] > 0, "{}: axis {} of {} holds no classes", field, a, shape.str());
    return {shape.count(0, a), shape[a], shape.count_from(a + 1)};
  }
  /// How it lies in a channels-last layout (or plain): with channels last, position follows
  /// position and each holds its classes side by side. Labels, one a position, are in the same
  /// order either way.
  ClassAxis in(const Layout& layout) const {
    return is_channels_last(layout) ? ClassAxis{outer * inner, classes, 1} : *this;
  }
};

/// Bottom 1 holds one label for each position of the scores.
inline void require_labels(const std::vector<Shape>& bottoms, const ClassAxis& axis) {
  require(bottoms[1].count() == axis.outer * axis.inner,
          "bottom 0 is {}: it needs {} labels, one for every {} scores, but bottom 1 holds {} ({})",
          bottoms[0].str(), axis.outer * axis.inner, axis.classes, bottoms[1].count(),
          bottoms[1].str());
}

}  // namespace crema
