// Max and average pooling with Caffe's windows, 2-D.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace crema {

enum class PoolMethod { kMax, kAverage };

/// Window of output i on an axis: start = i*stride - pad, MAX looks at [max(start,0), min(start+k,
/// in)); AVE divides by min(start+k, in+pad) - start (a product over both axes), then sums over the
/// clipped window. The output size is given.
struct PoolingShape {
  PoolMethod method = PoolMethod::kMax;
  std::int64_t batch = 0, channels = 0;
  std::int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  std::int64_t kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;

  Shape bottom() const { return {batch, channels, in_h, in_w}; }
  Shape top() const { return {batch, channels, out_h, out_w}; }
};

/// A planned pooling; plain or channels-last, the same for all tensors.
class Pooling {
 public:
  virtual ~Pooling() = default;
  /// MAX fills the workspace with winners (first strictly greater in row-major order).
  virtual void forward(const Tensor& bottom, const Tensor& top, void* workspace, void* scratch) = 0;
  virtual void backward(const Tensor& top_gradient, const Tensor& bottom_gradient,
                        const void* workspace, void* scratch) = 0;
  /// MAX, after forward: the winner's index h*in_w + w in its plane, as float, plain or
  /// channels-last as top.
  virtual void write_mask(const void* workspace, const Tensor& mask) = 0;
  virtual std::size_t workspace_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::string engine() const = 0;
};

struct PoolingPlan {
  std::unique_ptr<Pooling> pooling;
  std::vector<std::string> refusals;
};

/// The first engine that runs on this layout. `backward`: keep what backward needs. `mask`:
/// write_mask will be called.
PoolingPlan plan_pooling(Device& device, const PoolingShape& shape, const Layout& layout,
                         bool backward, bool mask);

/// The loop version on plain layout; T float or double. `winners` (one a top element) may be null
/// for AVE.
template <class T>
void pooling_forward_loop(const Device& device, const PoolingShape& shape, const T* bottom, T* top,
                          std::int32_t* winners);
/// Overwrites bottom_gradient.
template <class T>
void pooling_backward_loop(const Device& device, const PoolingShape& shape, const T* top_gradient,
                           const std::int32_t* winners, T* bottom_gradient);

}  // namespace crema
