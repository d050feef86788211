// Caffe's debug_info: the mean absolute value of every blob and parameter, layer by layer, in the
// log.
#pragma once

#include "net/net.h"

namespace crema {

/// Logs what it sees in Caffe's lines. The net should have been made with separate_layers, or its
/// fused layers are not seen.
class DebugInfo final : public NetObserver {
 public:
  explicit DebugInfo(Net& net) : net_(net) {}

  /// `    [Forward] Layer ip1, top blob ip1 data: 0.12`, then a line for each parameter.
  void after_forward(const Node& node, const RunContext& run) override;
  /// `    [Backward] Layer ip1, bottom blob data diff: 0.01`, then a line for each parameter, whose
  /// gradient is the sum over the passes since the last update.
  void after_backward(const Node& node, const RunContext& run) override;
  /// `    [Backward] All net params (data, diff): L1 norm = (1, 2); L2 norm = (3, 4)`.
  void after_all_backward() override;

 private:
  Net& net_;
};

}  // namespace crema
