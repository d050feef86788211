// What a user can write for a layer type, from the table of layers and the comments of caffe.proto:
// the `layers` tool and docs/layers.md.
#pragma once

#include <string>

#include "layers/layer.h"

namespace crema {

/// One line a type: name and summary.
std::string layer_list();

/// All about one type, for a terminal: numbers of bottoms and tops, fields with defaults,
/// differences from Caffe.
std::string layer_page(const LayerType& type);

/// docs/layers.md: all types, then the messages that several of them use.
std::string layers_markdown();

}  // namespace crema
