// What forks put into one layer and BVLC's Caffe into two: a BatchNorm with a learned scale and
// bias (NVIDIA's scale_bias, Intel's use_weight_bias), and Intel's layers with a ReLU in them.
#include <set>

#include "base/error.h"
#include "proto/positions.h"
#include "proto/upgrade.h"

namespace crema {
namespace {

constexpr int kStatistics = 3;  // mean, variance, factor

/// A layer that works in place on a top of `layer`, under the same rules, placed where `field`
/// stands.
caffe::LayerParameter behind(const caffe::LayerParameter& layer, const char* type,
                             const std::string& name, const std::string& blob,
                             const std::string& field) {
  caffe::LayerParameter added;
  added.set_name(name);
  added.set_type(type);
  added.add_bottom(blob);
  added.add_top(blob);
  added.mutable_include()->CopyFrom(layer.include());
  added.mutable_exclude()->CopyFrom(layer.exclude());
  if (layer.has_phase()) added.set_phase(layer.phase());
  if (layer.has_crema_source()) {
    caffe::SourcePositions* source = added.mutable_crema_source();
    const caffe::SourcePositions& from = layer.crema_source();
    source->set_file(from.file());
    source->set_line(from.line());
    source->set_column(from.column());
    for (const caffe::FieldPosition& position : from.field()) {
      if (position.path() != field) continue;
      source->set_line(position.line());
      source->set_column(position.column());
    }
  }
  return added;
}

class ForkUpgrade {
 public:
  ForkUpgrade(caffe::NetParameter* net, bool intel, UpgradeNotes* notes)
      : net_(net), intel_(intel), notes_(notes) {
    for (const caffe::LayerParameter& layer : net->layer()) names_.insert(layer.name());
  }

  void run() {
    for (int i = 0; i < net_->layer_size(); ++i) {
      caffe::LayerParameter& layer = *net_->mutable_layer(i);
      const std::size_t before = layers_.size();
      layers_.emplace_back();  // for the layer itself, once it has given away its parts
      if (layer.type() == "BatchNorm") batch_norm(i, &layer);
      if (layer.has_convolution_param()) {
        relu(&layer, layer.mutable_convolution_param(), "convolution_param.relu");
      }
      if (layer.has_inner_product_param()) {
        relu(&layer, layer.mutable_inner_product_param(), "inner_product_param.relu");
      }
      layers_[before].Swap(&layer);
    }
    if (layers_.size() == static_cast<std::size_t>(net_->layer_size())) {
      for (int i = 0; i < net_->layer_size(); ++i) {
        net_->mutable_layer(i)->Swap(&layers_[static_cast<std::size_t>(i)]);
      }
      return;
    }
    net_->clear_layer();
    for (caffe::LayerParameter& layer : layers_) net_->add_layer()->Swap(&layer);
  }

 private:
  /// Whether the next layer that reads the top of this BatchNorm is a Scale: Intel's Caffe makes
  /// the two one, so that its default adds nothing to them.
  bool scaled_by_next(int index) const {
    const caffe::LayerParameter& layer = net_->layer(index);
    for (int i = index + 1; i < net_->layer_size(); ++i) {
      const caffe::LayerParameter& next = net_->layer(i);
      for (const std::string& bottom : next.bottom()) {
        if (layer.top_size() > 0 && bottom == layer.top(0)) return next.type() == "Scale";
      }
    }
    return false;
  }

  void require_free(const caffe::LayerParameter& layer, const std::string& name) const {
    if (!names_.contains(name)) return;
    fail_at(position_of(layer),
            "layer \"{}\" ({}) needs a layer \"{}\" behind it, but there is one of that name; "
            "rename it",
            layer.name(), layer.type(), name);
  }

  void note(const caffe::LayerParameter& layer, const caffe::LayerParameter& added) {
    if (!notes_) return;
    notes_->push_back(fmt::format("{} of layer \"{}\" became a layer \"{}\" of type {}",
                                  added.type() == "Scale" ? "scale and bias" : "the ReLU",
                                  layer.name(), added.name(), added.type()));
  }

  void batch_norm(int index, caffe::LayerParameter* layer) {
    const bool given = layer->has_batch_norm_param();
    if (!given && !intel_ && layer->blobs_size() <= kStatistics) return;
    caffe::BatchNormParameter* param = layer->mutable_batch_norm_param();
    const bool by_intel = (param->has_use_weight_bias() && param->use_weight_bias()) ||
                          (intel_ && !param->has_use_weight_bias() && !param->has_scale_bias() &&
                           !scaled_by_next(index));
    const bool by_blobs = layer->blobs_size() > kStatistics;
    if (param->scale_bias() || by_intel || by_blobs) scale(layer, param, by_intel);
    relu(layer, param, "batch_norm_param.relu");
    param->clear_scale_bias();
    param->clear_scale_filler();
    param->clear_bias_filler();
    param->clear_use_weight_bias();
    param->clear_bias_term();
    param->clear_filler();
    if (!given) layer->clear_batch_norm_param();
  }

  void scale(caffe::LayerParameter* layer, caffe::BatchNormParameter* param, bool by_intel) {
    if (layer->top_size() == 0 && layer->blobs_size() <= kStatistics) return;
    const std::string name = scale_name(layer->name());
    require_free(*layer, name);
    const char* field = param->has_scale_bias() ? "batch_norm_param.scale_bias"
                                                : "batch_norm_param.use_weight_bias";
    caffe::LayerParameter added =
        behind(*layer, "Scale", name, layer->top_size() > 0 ? layer->top(0) : "", field);
    if (layer->top_size() == 0) {  // weights without their net
      added.clear_bottom();
      added.clear_top();
    }
    const bool bias = by_intel ? param->bias_term() : layer->blobs_size() != kStatistics + 1;
    caffe::ScaleParameter* scale = added.mutable_scale_param();
    scale->set_bias_term(bias);
    if (param->has_scale_filler()) *scale->mutable_filler() = param->scale_filler();
    if (param->has_filler()) *scale->mutable_filler() = param->filler();
    if (param->has_bias_filler() && bias) *scale->mutable_bias_filler() = param->bias_filler();
    for (int i = kStatistics; i < layer->param_size(); ++i) *added.add_param() = layer->param(i);
    for (int i = kStatistics; i < layer->blobs_size(); ++i) {
      added.add_blobs()->Swap(layer->mutable_blobs(i));
    }
    if (layer->param_size() > kStatistics) {
      layer->mutable_param()->DeleteSubrange(kStatistics, layer->param_size() - kStatistics);
      for (caffe::ParamSpec& rates : *layer->mutable_param()) {
        rates.set_lr_mult(0);
        rates.set_decay_mult(0);
      }
    }
    if (layer->blobs_size() > kStatistics) {
      layer->mutable_blobs()->DeleteSubrange(kStatistics, layer->blobs_size() - kStatistics);
    }
    note(*layer, added);
    layers_.push_back(std::move(added));
  }

  static float slope_of(const caffe::BatchNormParameter&) { return 0; }
  template <class Param>
  static float slope_of(const Param& param) {
    return param.negative_slope();
  }
  static void clear_slope(caffe::BatchNormParameter*) {}
  template <class Param>
  static void clear_slope(Param* param) {
    param->clear_negative_slope();
  }

  template <class Param>
  void relu(caffe::LayerParameter* layer, Param* param, const char* field) {
    if (param->relu()) {
      for (int i = 0; i < layer->top_size(); ++i) {
        const std::string name =
            layer->name() + "/relu" + (layer->top_size() > 1 ? std::to_string(i) : "");
        require_free(*layer, name);
        caffe::LayerParameter added = behind(*layer, "ReLU", name, layer->top(i), field);
        if (const float slope = slope_of(*param); slope != 0) {
          added.mutable_relu_param()->set_negative_slope(slope);
        }
        note(*layer, added);
        layers_.push_back(std::move(added));
      }
    }
    param->clear_relu();
    clear_slope(param);
  }

  caffe::NetParameter* net_;
  bool intel_;
  UpgradeNotes* notes_;
  std::set<std::string> names_;
  std::vector<caffe::LayerParameter> layers_;
};

}  // namespace

std::string scale_name(const std::string& batch_norm) { return batch_norm + "/scale"; }

void upgrade_forks(caffe::NetParameter* net, bool intel, UpgradeNotes* notes) {
  ForkUpgrade(net, intel, notes).run();
}

}  // namespace crema
