// Weights into a net, as tools do it.
#pragma once

#include "net/net.h"
#include "proto/weights.h"

namespace crema {

/// Loads and logs how many layers fitted and which were left out. Fails when none did.
void load_weights(Net& net, const StoredWeights& weights);

}  // namespace crema
