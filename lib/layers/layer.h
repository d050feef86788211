// What the graph asks of a layer type. A layer is one .cpp without a header; its row in all.cpp
// makes it known.
//
// A layer object holds the parsed parameters and knows shapes; it runs nothing. plan() makes the Op
// that runs, for given shapes, layouts and device. One layer may have several ops alive, one for
// each input shape in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "data/reader_options.h"
#include "layers/op.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace crema {

class BatchReader;

/// A learnable parameter as its layer declares it.
struct ParamDef {
  Shape shape;
  caffe::FillerParameter filler;
};

/// The outcome of shape inference.
struct Inference {
  std::vector<Shape> tops;
  std::vector<ParamDef> params;
  /// Multiply-adds of a forward pass.
  std::int64_t multiply_adds = 0;
};

/// One way to run a layer: the layouts that its tensors have then, and a guess of what it costs.
struct LayoutChoice {
  std::vector<Layout> bottoms, tops, params;
  /// Seconds of a forward pass, roughly; only differences between the choices of a layer matter.
  /// Reorders that become necessary are added by the layout pass.
  double cost = 0;
};

struct LayoutRequest {
  Device& device;
  std::vector<Shape> bottoms, tops, params;
  /// Which gradients backward will ask for.
  std::vector<char> bottom_gradients, param_gradients;
};

/// All that an op needs to know when it is made.
struct PlanRequest {
  Device& device;
  std::vector<Shape> bottoms, tops, params;
  std::vector<Layout> bottom_layouts, top_layouts, param_layouts;
  /// Which gradients backward will ask for; all false when there is no backward.
  std::vector<char> bottom_gradients, param_gradients;
  /// Set by the fuse pass: run this ReLU (negative slope) on top 0 as well.
  bool fused_relu = false;
  float fused_relu_slope = 0;

  bool any_gradient() const;
};

class Layer {
 public:
  explicit Layer(const caffe::LayerParameter& definition) : definition_(definition) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const caffe::LayerParameter& definition() const { return definition_; }
  const std::string& name() const { return definition_.name(); }
  const std::string& type() const { return definition_.type(); }
  caffe::Phase phase() const { return definition_.phase(); }
  /// `net.prototxt:41` of a field ("pooling_param.pad") or of the layer, "" when not read from a
  /// text file.
  std::string position(const std::string& field = "") const;

  /// The net's seed, set right after the layer is made: what it draws, shuffles, crops and mirrors
  /// by.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  std::uint64_t seed() const { return seed_; }

  /// How the net's data layers read, set with the seed.
  void set_reading(const ReaderOptions& reading) { reading_ = reading; }
  const ReaderOptions& reading() const { return reading_; }

  /// Shapes, parameters and work; allocates no blob. The only place that knows Caffe's rounding:
  /// engines are given the output size. Errors are user errors; the caller adds the layer's name
  /// and place.
  virtual Inference infer(const std::vector<Shape>& bottoms) const = 0;

  /// Filter, DetectionOutput: the tops' sizes depend on what the bottoms hold. infer() gives the
  /// most that they can be, actual_tops(), once the bottoms are there, the true ones, for which
  /// layers that follow are planned again. From such a layer on all layouts are plain.
  virtual bool tops_depend_on_data() const { return false; }
  virtual std::vector<Shape> actual_tops(const std::vector<Tensor>& /*bottoms*/) const;

  /// The ways to run, best first is not required. Default: every tensor plain.
  virtual std::vector<LayoutChoice> layouts(const LayoutRequest& request) const;
  /// An elementwise layer runs on whatever layout bottom 0 has; all tensors then share it and
  /// layouts() is not asked. f(0) must be 0, or the op must keep padding zero.
  virtual bool any_layout() const { return false; }
  /// Its op takes parameters in a layout of another choice too, and converts them at every call.
  virtual bool converts_params() const { return false; }

  virtual std::unique_ptr<Op> plan(const PlanRequest& request) const = 0;

  // What backward reads of the data. The memory pass may overwrite all else.
  virtual bool backward_reads_bottom(int bottom) const;
  virtual bool backward_reads_top(int top) const;
  /// Forward may write top 0 over bottom 0 (same shape and layout), element by element. No other
  /// bottom lies in that memory.
  virtual bool forward_in_place() const { return false; }
  /// Backward may write the gradient of bottom 0 over that of top 0.
  virtual bool backward_in_place() const { return false; }
  /// Top `top` is bottom 0 under another name and perhaps shape: same memory, forward does nothing
  /// for it.
  virtual bool is_view(int /*top*/) const { return false; }
  /// Likewise the gradient of bottom 0 is that of top 0, and backward does nothing.
  virtual bool is_gradient_view() const { return false; }
  /// Tops that are written once or by the user and must keep their values between passes.
  virtual bool tops_persist() const { return false; }

  /// Tops are the caller's to fill (Net::write_blob), in a shape of his choice (Net::reshape).
  virtual bool filled_by_caller() const { return false; }
  /// … and to run before that has happened is an error.
  virtual bool must_be_filled() const { return false; }

  /// May a gradient be asked for this bottom? (Labels and the like: no.)
  virtual bool differentiable(int /*bottom*/) const { return true; }
  /// Caffe's force_backward wants a gradient for this bottom.
  virtual bool allow_force_backward(int bottom) const { return differentiable(bottom); }
  /// Weight of the first top in the net's loss when the definition gives none: 1 for losses, else
  /// 0.
  virtual float default_loss_weight() const { return 0; }
  /// Tops to add without a name when the definition has fewer (losses: 1).
  virtual int anonymous_tops() const { return 0; }
  /// The rate multiplier of a parameter when the definition gives none (BatchNorm's statistics: 0).
  virtual float default_lr_mult() const { return 1; }

  /// A ReLU can be appended to top 0 (fuse pass).
  virtual bool can_fuse_relu(DeviceKind /*device*/, std::string* refusal) const {
    *refusal = "this layer has no fused form";
    return false;
  }

  /// The records behind a data layer, or null.
  virtual BatchReader* reader() const { return nullptr; }

 private:
  caffe::LayerParameter definition_;
  std::uint64_t seed_ = 0;
  ReaderOptions reading_;
};

/// A row of the table of layer types.
struct LayerType {
  const char* type;
  std::unique_ptr<Layer> (*make)(const caffe::LayerParameter& definition);
  int min_bottoms, max_bottoms;  ///< kMany: no limit
  int min_tops, max_tops;
  /// Its messages in LayerParameter, separated by spaces ("softmax_param loss_param"), or "".
  const char* parameters;
  const char* summary;  ///< one sentence
  /// Where it deliberately differs from Caffe (whole sentences, for docs/layers.md), or "".
  const char* differences = "";
  /// Several bottoms give as many tops (Convolution).
  bool same_count = false;
};
constexpr int kMany = 1 << 20;

/// All types, sorted by name.
const std::vector<LayerType>& layer_types();
/// The row of a type; a user error with the nearest name when there is none.
const LayerType& layer_type(const std::string& type);

}  // namespace crema
