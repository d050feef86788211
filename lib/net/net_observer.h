// Watches a net layer by layer while it runs, for whoever looks for a number that went wrong.
//
// Layers share memory, so what a call shows is true in that call only. Layers are seen in the order
// in which they run; reorders, which nobody wrote, are not seen. A layer that was fused into the
// one before is not seen either: NetOptions::separate_layers keeps them apart.
#pragma once

#include "net/graph.h"

namespace crema {

class NetObserver {
 public:
  virtual ~NetObserver() = default;
  /// The tops of this node are made.
  virtual void after_forward(const Node& /*node*/, const RunContext& /*run*/) {}
  /// The gradients of its bottoms are made and those of its parameters added to; those that are not
  /// asked for are empty.
  virtual void after_backward(const Node& /*node*/, const RunContext& /*run*/) {}
  virtual void after_all_backward() {}
};

}  // namespace crema
