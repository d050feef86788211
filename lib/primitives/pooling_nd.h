// Pooling for any number of spatial axes, plain layout; and the two forms of stochastic pooling,
// which have no faster engine. What primitives/pooling.h can do is faster there.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "primitives/pooling_loops.h"
#include "tensor/tensor.h"

namespace crema {

/// Windows as in PoolingShape, on each of `axes` axes. In a form that a device loop can carry.
struct PoolingNdShape {
  enum class Method {
    kMax,
    kAverage,
    kDraw,     ///< stochastic, training: an element, with probability x / sum of x
    kExpected  ///< stochastic, testing: sum of x^2 / sum of x, what a draw gives in the mean
  };
  static constexpr int kMaxAxes = Shape::kMaxAxes - 2;

  Method method = Method::kMax;
  std::int64_t planes = 0;
  int axes = 0;
  loops::PoolAxis axis[kMaxAxes];

  std::int64_t in_count() const {
    std::int64_t count = 1;
    for (int a = 0; a < axes; ++a) count *= axis[a].in;
    return count;
  }
  std::int64_t out_count() const {
    std::int64_t count = 1;
    for (int a = 0; a < axes; ++a) count *= axis[a].out;
    return count;
  }
};

/// A plane has fewer than 2^31 elements, and no window lies outside of it.
class PoolingNd {
 public:
  /// `keep`: forward is to leave in the workspace what backward and write_mask() need. `stream` is
  /// what kDraw draws from, by the number of the pass and the element's index.
  PoolingNd(Device& device, const PoolingNdShape& shape, bool keep, const RandomStream& stream)
      : device_(device), shape_(shape), keep_(keep), stream_(stream) {}

  void forward(const Tensor& bottom, const Tensor& top, void* workspace, std::uint64_t pass) const;
  /// `bottom` and `top` are read by kExpected alone.
  void backward(const Tensor& bottom, const Tensor& top, const Tensor& top_gradient,
                const Tensor& bottom_gradient, const void* workspace, void* scratch) const;
  /// kMax, after forward: the winner's index in its plane; -1 where nothing won (all NaN).
  void write_mask(const void* workspace, const Tensor& mask) const;

  std::size_t workspace_bytes() const;
  std::size_t scratch_bytes() const;

 private:
  std::int64_t tops() const { return shape_.planes * shape_.out_count(); }

  Device& device_;
  PoolingNdShape shape_;
  bool keep_;
  RandomStream stream_;
};

}  // namespace crema
