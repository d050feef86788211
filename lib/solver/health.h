// Where the first number of an iteration comes from that is none: NaN or an infinity.
//
// Training only looks at the loss and at the gradients of parameters, which costs next to nothing.
// When they are bad, the passes of the iteration are run again, on the same records and with the
// same masks, and every layer is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/net.h"
#include "proto/weights.h"

namespace crema {

bool all_finite(const Tensor& tensor);
bool parameters_finite(const Net& net);
bool gradients_finite(const Net& net);

/// `layer "ip", blob 0: 7 of 70 values are NaN or infinite`, of the first such blob in stored
/// weights, or "". With a net only layers that it has count.
std::string non_finite_blob(const StoredWeights& weights, const Net* net = nullptr);

/// Where a net's data and its random numbers stand.
class PassMark {
 public:
  explicit PassMark(Net& net);
  void set();
  /// The passes since set() can be run again.
  void rewind() const;

 private:
  Net& net_;
  std::vector<BatchReader*> readers_;
  std::vector<std::uint64_t> positions_;
  std::uint64_t passes_ = 0;
};

struct NonFinite {
  /// `top "ip" of net.prototxt:3: layer "ip" (InnerProduct): 7 of 70 values`, or "": all numbers
  /// were finite this time.
  std::string where;
  /// The record itself holds it.
  bool in_data = false;
  /// A parameter held it before the first pass.
  bool in_parameter = false;
};

/// What usually helps, a sentence without its full stop. `iteration`: updates done so far.
std::string advice(const NonFinite& first, int iteration, float base_lr);

/// Runs `passes` forward and backward passes again from `mark`. The gradients are those of these
/// passes again afterwards. The net's observer is gone.
NonFinite find_non_finite(Net& net, const PassMark& mark, int passes);

}  // namespace crema
