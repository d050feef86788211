// What cases look at in a net beyond its public blobs.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"

namespace crema::conformance {

/// The layers in the order of the definition, Split layers included, reorders not: indices into
/// net.graph().nodes.
std::vector<std::size_t> definition_order(const Net& net);

/// The shape of parameter `index` of a layer; nothing when there is no such parameter.
const ParamNode* find_param(const Net& net, const std::string& layer, int index);

/// The gradient of an input itself, not of what an in-place layer makes of it under the same name;
/// zeros when the net computes none, as Caffe has it.
std::vector<float> input_gradient(const Net& net, const std::string& blob);

/// Sets the gradient of an output. Does nothing when no backward starts there: Caffe has the array
/// but does not look at it.
void set_output_gradient(Net* net, const std::string& blob, const std::vector<float>& values);

}  // namespace crema::conformance
