// From a NetParameter to something that runs, in small steps. `upgrade`, the first, is in
// lib/proto.
//
//   filter -> build (with splits) -> infer -> differentiate -> fuse -> layout -> memory
//
// Each pass depends on its arguments alone; none reads or writes a tensor. A net whose inputs
// change shape runs infer and what follows again, on a copy of what build made.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "net/graph.h"

namespace crema {

/// What is left of a net for a state.
struct FilteredNet {
  caffe::NetParameter net;
  /// Blobs that only removed layers produce, with the reason ("layer "data" is left out: …"), for
  /// error messages.
  std::map<std::string, std::string> removed;
};

/// Keeps the layers whose include and exclude rules `state` meets, and gives each layer without a
/// phase the net's.
FilteredNet filter(const caffe::NetParameter& net, const caffe::NetState& state);

/// Gives every blob that is consumed more than once, a loss weight counting as one use, a Split
/// layer after its producer. Names are Caffe's: BLOB_LAYER_T_split, tops BLOB_LAYER_T_split_K.
/// Fails on bottoms that nobody produces.
caffe::NetParameter insert_splits(const FilteredNet& filtered);

/// Makes the layers and connects them. In-place tops become values of their own.
/// Fails on unknown types, wrong numbers of bottoms or tops, tops produced twice.
Graph build(const FilteredNet& filtered, const caffe::NetState& state);

/// Shapes, parameters with their sharing and multipliers, loss weights.
void infer(Graph& graph);

/// Shapes of all that comes after node `node`, whose tops have these shapes for now (see
/// Layer::tops_depend_on_data).
void infer_after(Graph& graph, int node, const std::vector<Shape>& tops);

/// Which gradients backward computes (Caffe's rules: propagate_down, pruning of branches without
/// loss, lr_mult 0, force_backward). Without `backward` none.
void differentiate(Graph& graph, bool backward);

/// Moves a ReLU into the layer before it where that layer can do both in one sweep. Blobs marked
/// keep stay.
void fuse(Graph& graph, DeviceKind device);

/// Chooses the layout of every value and parameter (those in `fixed_params`, by index, are given)
/// and inserts the reorders that become necessary. Greedy in order of the layers: each takes the
/// choice with the least cost, the reorders of its bottoms included.
void layout(Graph& graph, Device& device, const std::map<int, Layout>& fixed_params);

/// Memory that an op wants besides tensors; one entry a node.
struct OpMemory {
  std::size_t workspace = 0, scratch = 0;
};

/// Where everything lies in one arena. Offsets in bytes; kNowhere: not in the arena.
struct MemoryPlan {
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  std::vector<std::size_t> data, gradient;                        ///< by value
  std::vector<std::size_t> workspace, scratch, backward_scratch;  ///< by node
  /// Values that keep their memory between passes (inputs) lie outside the arena, in a
  /// buffer of the value named here: their own index, or that of the value they are a view of; -1:
  /// in the arena.
  std::vector<int> persistent;
  /// Node's top 0 is in the memory of its bottom 0 and the op need not copy (a view).
  std::vector<char> forward_is_view, backward_is_view;
  std::size_t arena_bytes = 0;
  std::size_t bytes_without_sharing = 0;
};

/// Liveness, then offsets: first the largest, each at the lowest place that is free during its
/// life. `expose_gradients`: every gradient keeps its place and nothing else is put there.
MemoryPlan plan_memory(const Graph& graph, const std::vector<OpMemory>& ops, bool backward,
                       bool expose_gradients);

/// Recomputes producers and consumers of values from the nodes.
void relink(Graph& graph);

}  // namespace crema
