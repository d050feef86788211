// Does a stored layer fit a layer of a net?
#pragma once

#include <string>

#include "net/graph.h"
#include "proto/weights.h"

namespace crema {

/// "" when every blob fits the parameter that it is for, else the first that does not, with both
/// shapes. `hdf5`: such files leave out blobs whose parameters are another layer's.
std::string misfit(const Graph& graph, const Node& node, const StoredLayer& stored, bool hdf5);

}  // namespace crema
