#include "net/graph.h"

#include <fmt/format.h>

#include "proto/text.h"

namespace crema {

std::string describe_layer(const caffe::LayerParameter& layer) {
  const std::string position = position_of(layer);
  return fmt::format("{}layer \"{}\" ({})", position.empty() ? "" : position + ": ", layer.name(),
                     layer.type().empty() ? "no type" : layer.type());
}

std::string Node::where() const { return describe_layer(definition); }

}  // namespace crema
