// A net between definition and execution: what the passes (lib/net/passes) work on.
//
// Nodes are layers in the order of the definition, values are edges. A value has one producer; it
// has several consumers only after a Split node, whose tops are the same memory. An in-place layer
// makes a new value under the old blob name; sharing memory is the memory pass's business.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "layers/layer.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace crema {

/// `net.prototxt:41: layer "conv2" (Convolution)`, the context of every error about a layer.
std::string describe_layer(const caffe::LayerParameter& layer);

struct Value {
  std::string blob;  ///< name in the definition; "" for anonymous tops
  int producer = -1;
  int producer_top = 0;
  int consumer = -1;  ///< node, or -1: nobody
  int consumer_bottom = 0;
  // infer
  Shape shape;
  /// Weight in the net's loss.
  float loss_weight = 0;
  // differentiate
  /// Backward computes the gradient of the loss by this value.
  bool gradient = false;
  // layout
  Layout layout;
  /// The user may look at it: it must hold its data at the end of forward.
  bool keep = false;
};

/// A learnable parameter: owned by one node, perhaps used by others.
struct ParamNode {
  int owner = -1;  ///< node
  int index = 0;   ///< within the owner
  std::string shared_name;
  Shape shape;
  caffe::FillerParameter filler;
  float lr_mult = 1, decay_mult = 1;
  bool lr_given = false, decay_given = false;
  /// Some user computes a gradient for it.
  bool gradient = false;
  Layout layout;
};

struct Node {
  caffe::LayerParameter definition;
  std::shared_ptr<Layer> layer;
  std::vector<int> bottoms, tops;  ///< values
  std::vector<int> params;         ///< ParamNodes
  /// As the node sees them; a shared one's owner may give it another shape of the same count.
  std::vector<Shape> param_shapes;
  std::int64_t multiply_adds = 0;
  // differentiate
  bool backward = false;
  std::vector<char> bottom_gradients, param_gradients;
  // fuse
  bool fused_away = false;  ///< runs inside another node
  bool fused_relu = false;
  float fused_relu_slope = 0;
  std::string fuse_refusal;
  /// Inserted by the layout pass.
  bool is_reorder = false;

  const std::string& name() const { return definition.name(); }
  const std::string& type() const { return definition.type(); }
  std::string where() const;  ///< see describe_layer
};

struct Graph {
  std::string name;
  caffe::NetState state;
  bool force_backward = false;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ParamNode> params;
  /// Shapes that the user gave inputs in place of those of the definition.
  std::map<std::string, Shape> reshaped;
  /// Blob name to its last value.
  std::map<std::string, int> blobs;
  /// Values nobody consumes, in byte order of their names: the net's outputs.
  std::vector<int> outputs;
};

struct MemorySummary {
  std::size_t activations = 0;      ///< arena: data, gradients, workspaces, scratch
  std::size_t without_sharing = 0;  ///< the same if nothing shared memory
  std::size_t params = 0;           ///< data
  std::size_t param_gradients = 0;
};

}  // namespace crema
