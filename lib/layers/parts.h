// A blob that is several smaller ones laid one after the other along an axis: what Concat joins and
// Slice cuts.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/strided_copy.h"
#include "primitives/layouts.h"
#include "tensor/tensor.h"

namespace crema {

class Parts {
 public:
  /// All shapes have the same sizes but along `axis`. A layout that is not plain is channels-last,
  /// with `axis` 0 or 1.
  Parts(const std::vector<Shape>& parts, int axis, const Layout& whole) {
    const bool last = is_channels_last(whole) && axis == 1;
    const std::int64_t inner = last ? 1 : parts[0].count_from(axis + 1);
    rows_ = parts[0].count(0, axis) * (last ? parts[0].count_from(axis + 1) : 1);
    for (const Shape& part : parts) {
      lengths_.push_back(part[axis] * inner);
      row_ += lengths_.back();
    }
  }

  /// A part that is no tensor is zeros. What is in its place already is left alone.
  void join(Device& device, const std::vector<Tensor>& parts, const Tensor& whole) const {
    bool zeros = false;
    for (const Tensor& part : parts) zeros = zeros || !part;
    if (zeros) whole.fill_zero();
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] && parts[i].read() != whole.read()) {
        strided_copy(device, box(lengths_[i], row_, lengths_[i]), parts[i].read(),
                     whole.write() + offset);
      }
      offset += lengths_[i];
    }
  }

  /// Parts that are no tensors are left out; no whole is zeros.
  void cut(Device& device, const Tensor& whole, const std::vector<Tensor>& parts) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] && !whole) {
        parts[i].fill_zero();
      } else if (parts[i] && parts[i].read() != whole.read()) {
        strided_copy(device, box(row_, lengths_[i], lengths_[i]), whole.read() + offset,
                     parts[i].write());
      }
      offset += lengths_[i];
    }
  }

 private:
  StridedCopy box(std::int64_t from_stride, std::int64_t to_stride, std::int64_t length) const {
    StridedCopy box;
    box.add_axis(rows_, from_stride, to_stride);
    box.add_axis(length, 1, 1);
    return box;
  }

  std::int64_t rows_, row_ = 0;
  std::vector<std::int64_t> lengths_;
};

}  // namespace crema
