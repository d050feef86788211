// The memory of a net's parameters and their gradients, each in the layout that the layout pass
// chose.
#pragma once

#include <map>
#include <vector>

#include "net/graph.h"
#include "tensor/tensor.h"

namespace crema {

class ParamStore {
 public:
  /// Allocates for the graph's parameters; those in `borrowed` (by index) are tensors of another
  /// net. Fills the rest from blobs in the definition or by their fillers. One buffer holds all
  /// data, another all gradients.
  ParamStore(const Graph& graph, Device& device, bool gradients, std::uint64_t seed,
             const std::map<int, Tensor>& borrowed);

  const Tensor& data(int param) const { return data_[static_cast<std::size_t>(param)]; }
  const Tensor& gradient(int param) const { return gradient_[static_cast<std::size_t>(param)]; }

  /// A gradient that was not written since clear_gradients() counts as zero, whatever its memory
  /// holds.
  bool written(int param) const { return written_[static_cast<std::size_t>(param)] != 0; }
  void mark_written(int param) { written_[static_cast<std::size_t>(param)] = 1; }
  void clear_gradients() { written_.assign(written_.size(), 0); }
  /// Makes the zeros real.
  void finish_gradient(int param);
  void finish_gradients();

  std::size_t gradient_bytes() const { return gradient_buffer_.bytes(); }

 private:
  Buffer data_buffer_, gradient_buffer_;
  std::vector<Tensor> data_, gradient_;
  std::vector<char> written_;
};

/// Bytes of parameters in memory, each padded to a cache line.
std::size_t param_bytes(const Graph& graph);

/// Values in plain order into a tensor of any layout, and back.
void write_plain(const Tensor& tensor, const float* values);
std::vector<float> read_plain(const Tensor& tensor);

}  // namespace crema
