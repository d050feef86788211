// A layer that has been planned for given shapes, layouts and one device: what the executor runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace crema {

/// What an op may touch while it runs. Indices are those of the layer's bottoms, tops and
/// parameters.
struct RunContext {
  Device& device;

  std::vector<Tensor> bottoms;
  std::vector<Tensor> tops;
  std::vector<Tensor> params;

  // Backward only.
  /// Gradients of tops; empty where none arrives (it counts as zero).
  std::vector<Tensor> top_gradients;
  /// To be overwritten; empty where none is wanted.
  std::vector<Tensor> bottom_gradients;
  /// Empty where none is wanted.
  std::vector<Tensor> param_gradients;
  /// True: add to what param_gradients[i] holds. False: overwrite it (it holds anything).
  std::vector<char> accumulate;

  /// Op::workspace_bytes of memory that keeps its contents from forward to backward.
  void* workspace = nullptr;
  /// Op::scratch_bytes of memory for this call alone.
  void* scratch = nullptr;

  /// Number of forward passes this net has done before this one: the step of random streams.
  std::uint64_t pass = 0;
  /// Where item `i` of the batch came from ("record "00000012" of train_lmdb"), or "" when nobody
  /// knows.
  std::function<std::string(int item)> describe_item;

  /// What backward does where no gradient arrives: zero for every gradient that is asked for.
  void zero_gradients() const;
};

class Op {
 public:
  virtual ~Op() = default;

  virtual void forward(const RunContext& run) = 0;
  /// Called only when a gradient of a bottom or a parameter is wanted.
  virtual void backward(const RunContext& run);

  /// After forward(): of how many things top `top` is the mean, for each of its elements (labels
  /// that are not ignored, items of a class). Empty: of the records of the batch, or of nothing.
  virtual std::vector<double> mean_over(int /*top*/) const { return {}; }

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Which implementation runs ("brgconv:avx512_core", "loop"), for describe-net --explain.
  const std::string& engine() const { return engine_; }
  /// Faster implementations that declined, one "NAME: reason" each.
  const std::vector<std::string>& refusals() const { return refusals_; }

 protected:
  std::size_t workspace_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
  std::string engine_ = "loop";
  std::vector<std::string> refusals_;
};

}  // namespace crema
