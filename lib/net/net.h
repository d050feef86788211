// A net that runs: the compiled form of a NetParameter on one device.
//
// Not thread-safe. Blobs are named as in the definition; where layers work in place the name stands
// for the last of the values that shared it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "data/reader_options.h"
#include "net/graph.h"
#include "net/net_observer.h"
#include "proto/weights.h"
#include "tensor/tensor.h"

namespace crema {

struct NetOptions {
  caffe::NetState state;
  /// Backward will run: gradients are planned, activations that they need are kept.
  bool backward = false;
  /// Blobs that can be read after forward besides the net's outputs.
  std::vector<std::string> keep;
  bool keep_all = false;
  /// Let the user set gradients of outputs and read gradients of blobs (tests, gradient check).
  bool expose_gradients = false;
  /// No layer is fused into another: an observer wants to see each by itself.
  bool separate_layers = false;
  /// Seed of fillers, masks and data order.
  std::uint64_t seed = 0;
  /// How its data layers read. To skip bad records is a user error with more than one.
  ReaderOptions reading;
  /// Parameters are those of this net, by layer name, as far as it has the layer (a test net of a
  /// solver). It must outlive this one.
  const class Net* share_with = nullptr;
};

/// One learnable parameter, owned once however many layers share it.
struct Parameter {
  std::string layer;  ///< the owner
  int index = 0;      ///< within the owner
  Shape shape;
  float lr_mult = 1, decay_mult = 1;
  Tensor data;
  /// Empty when the net has no backward.
  Tensor gradient;
};

class Net {
 public:
  /// Compiles `definition` (already upgraded, see read_net). User errors name layer and line.
  Net(const caffe::NetParameter& definition, Device& device, const NetOptions& options);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  /// Runs all layers; the weighted loss. Where a data layer's next batch has another shape, the net
  /// is planned for that first.
  float forward();
  /// After forward(): gradients of the parameters are added to what they hold since
  /// clear_gradients().
  void backward();
  /// Sees all layers of the passes from now on; null: nobody does. It must outlive them.
  void observe(NetObserver* observer);
  /// Parameter gradients count as zero (nothing is written yet).
  void clear_gradients();
  /// After backward passes: writes zeros to the gradients that no pass has written.
  void finish_gradients();

  const std::string& name() const;
  /// As planned for the present shapes.
  const Graph& graph() const;
  const class Executor& executor() const;
  Device& device() const;

  /// Names of the outputs, in byte order (Caffe's).
  const std::vector<std::string>& outputs() const;
  /// Weight in the loss of a blob, 0 for most.
  float loss_weight(const std::string& blob) const;
  /// Tops of Input and MemoryData layers, in order: what write_blob() takes.
  std::vector<std::string> inputs() const;
  bool has_blob(const std::string& blob) const;
  Shape shape(const std::string& blob) const;
  /// A blob's values in plain order. Fails when the blob is unknown (nearest name) or was not kept.
  std::vector<float> read_blob(const std::string& blob) const;
  /// After forward(): of how many things each value of a blob is the mean, where its layer counts
  /// them (see Op::mean_over), else empty.
  std::vector<double> mean_over(const std::string& blob) const;
  void write_blob(const std::string& blob, const std::vector<float>& values);
  /// With expose_gradients.
  std::vector<float> read_gradient(const std::string& blob) const;
  void write_gradient(const std::string& blob, const std::vector<float>& values);

  /// New shapes of inputs; the net is planned again (plans are kept per input shapes).
  void reshape(const std::map<std::string, Shape>& inputs);
  /// Every data layer reads batches of `records` from now on; 0: what its definition says.
  void set_batch(int records);
  /// The data layers, by name.
  std::vector<std::pair<std::string, BatchReader*>> readers() const;

  /// Learnable parameters in Caffe's order: by layer, then index, owners only.
  std::vector<Parameter>& parameters();
  const std::vector<Parameter>& parameters() const;
  /// The parameters of a layer (owners' ones where shared), in plain order; empty for an unknown
  /// layer.
  std::vector<std::vector<float>> read_params(const std::string& layer) const;
  void write_param(const std::string& layer, int index, const std::vector<float>& values);
  std::vector<float> read_param_gradient(const std::string& layer, int index) const;

  /// Parameters from a weight file, matched by layer name.
  struct LoadReport {
    std::vector<std::string> copied;   ///< layers
    std::vector<std::string> skipped;  ///< in the file, not in the net
    std::vector<std::string> missing;  ///< have parameters, not in the file
  };
  /// A layer that fits in name but not in number or shape of blobs is an error that names both
  /// shapes.
  LoadReport load(const StoredWeights& weights);
  /// The layers as built (splits included), without blobs and positions.
  caffe::NetParameter definition() const;
  /// The net as Caffe stores it: definition with blobs. `owned_only`: shared parameters have values
  /// (but not gradients) in their owner alone, as HDF5 files have it.
  caffe::NetParameter to_proto(bool with_gradients = false, bool owned_only = false) const;

  /// Forward passes done: the step of random masks. Kept in snapshots.
  std::uint64_t passes() const;
  void set_passes(std::uint64_t passes);

  /// Bytes of activations and gradients, of parameters, as planned for the present shapes.
  MemorySummary memory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace crema
