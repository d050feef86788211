// The dimensions of a blob, slowest axis first (N x C x H x W for images).
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace crema {

/// 0 to 32 dimensions, each >= 0. No axis at all is a scalar: count 1.
class Shape {
 public:
  static constexpr int kMaxAxes = 32;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  /// Fails (user error) on a negative dimension, more than 32 axes, or a count beyond 2^62.
  explicit Shape(std::span<const std::int64_t> dims);

  int axes() const { return static_cast<int>(dims().size()); }
  std::int64_t operator[](int axis) const { return dims()[static_cast<std::size_t>(axis)]; }
  /// A view of what the shape holds.
  std::span<const std::int64_t> dims() const {
    return many_.empty() ? std::span<const std::int64_t>(few_.data(), few_axes_) : many_;
  }

  std::int64_t count() const { return count(0, axes()); }
  /// Product of dimensions begin .. end-1.
  std::int64_t count(int begin, int end) const;
  std::int64_t count_from(int begin) const { return count(begin, axes()); }

  /// Caffe's axis rule: `axis` in [-axes, axes), negative ones count from the end. Fails with the
  /// shape otherwise.
  int canonical_axis(int axis) const;

  /// Caffe's legacy accessors num, channels, height, width: axes 0..3, 1 where there is no such
  /// axis.
  std::int64_t legacy(int axis) const { return axis < axes() ? (*this)[axis] : 1; }

  Shape with(int axis, std::int64_t size) const;

  /// "64x1x28x28"; a scalar is "scalar".
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::ranges::equal(a.dims(), b.dims());
  }
  friend std::strong_ordering operator<=>(const Shape& a, const Shape& b) {
    const auto left = a.dims(), right = b.dims();
    return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(),
                                                  right.end());
  }

 private:
  // Tensors are copied all the time, so that the shapes of this world lie in the object itself;
  // only longer ones go to the heap.
  static constexpr std::size_t kFew = 6;
  std::array<std::int64_t, kFew> few_{};
  std::size_t few_axes_ = 0;
  std::vector<std::int64_t> many_;  ///< all dimensions of a shape of more than kFew axes
};

}  // namespace crema
