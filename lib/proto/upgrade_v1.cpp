// V1 (2014) to today's form: `layers { type: CONVOLUTION blobs_lr: 1 }` to
// `layer { type: "Convolution" param { lr_mult: 1 } }`.
#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "proto/positions.h"
#include "proto/upgrade.h"

namespace crema {
namespace {

using V1 = caffe::V1LayerParameter;
using google::protobuf::FieldDescriptor;

struct TypeName {
  V1::LayerType type;
  const char* name;
};
constexpr TypeName kTypeNames[] = {
    {V1::ABSVAL, "AbsVal"},
    {V1::ACCURACY, "Accuracy"},
    {V1::ARGMAX, "ArgMax"},
    {V1::BNLL, "BNLL"},
    {V1::CONCAT, "Concat"},
    {V1::CONTRASTIVE_LOSS, "ContrastiveLoss"},
    {V1::CONVOLUTION, "Convolution"},
    {V1::DATA, "Data"},
    {V1::DECONVOLUTION, "Deconvolution"},
    {V1::DROPOUT, "Dropout"},
    {V1::DUMMY_DATA, "DummyData"},
    {V1::EUCLIDEAN_LOSS, "EuclideanLoss"},
    {V1::ELTWISE, "Eltwise"},
    {V1::EXP, "Exp"},
    {V1::FLATTEN, "Flatten"},
    {V1::HDF5_DATA, "HDF5Data"},
    {V1::HDF5_OUTPUT, "HDF5Output"},
    {V1::HINGE_LOSS, "HingeLoss"},
    {V1::IM2COL, "Im2col"},
    {V1::IMAGE_DATA, "ImageData"},
    {V1::INFOGAIN_LOSS, "InfogainLoss"},
    {V1::INNER_PRODUCT, "InnerProduct"},
    {V1::LRN, "LRN"},
    {V1::MEMORY_DATA, "MemoryData"},
    {V1::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
    {V1::MVN, "MVN"},
    {V1::POOLING, "Pooling"},
    {V1::POWER, "Power"},
    {V1::RELU, "ReLU"},
    {V1::SIGMOID, "Sigmoid"},
    {V1::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
    {V1::SILENCE, "Silence"},
    {V1::SOFTMAX, "Softmax"},
    {V1::SOFTMAX_LOSS, "SoftmaxWithLoss"},
    {V1::SPLIT, "Split"},
    {V1::SLICE, "Slice"},
    {V1::TANH, "TanH"},
    {V1::WINDOW_DATA, "WindowData"},
    {V1::THRESHOLD, "Threshold"},
};

caffe::ParamSpec* param_at(int index, caffe::LayerParameter* layer) {
  while (layer->param_size() <= index) layer->add_param();
  return layer->mutable_param(index);
}

/// Moves the `..._param` messages that are set; both forms name them alike.
void move_parameters(V1* old, caffe::LayerParameter* layer) {
  const auto* from = old->GetReflection();
  const auto* to = layer->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  from->ListFields(*old, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->message_type() || field->is_repeated() || field->name() == "crema_source") continue;
    const FieldDescriptor* same = layer->GetDescriptor()->FindFieldByName(field->name());
    if (!same || same->message_type() != field->message_type()) continue;
    to->SetAllocatedMessage(layer, from->ReleaseMessage(old, field), same);
  }
}

void move_positions(const caffe::SourcePositions& old, caffe::SourcePositions* source) {
  source->set_file(old.file());
  source->set_line(old.line());
  source->set_column(old.column());
  const std::pair<std::string_view, std::string_view> lists[] = {{"param", "name"},
                                                                 {"blob_share_mode", "share_mode"},
                                                                 {"blobs_lr", "lr_mult"},
                                                                 {"weight_decay", "decay_mult"}};
  for (const caffe::FieldPosition& field : old.field()) {
    std::string path = field.path();
    for (const auto& [list, renamed] : lists) {
      if (path.size() > list.size() && path.compare(0, list.size(), list) == 0 &&
          path[list.size()] == '[') {
        path = fmt::format("param{}.{}", path.substr(list.size()), renamed);
        break;
      }
    }
    caffe::FieldPosition* moved = source->add_field();
    *moved = field;
    moved->set_path(path);
  }
}

void upgrade_layer(V1* old, caffe::LayerParameter* layer) {
  layer->mutable_bottom()->Swap(old->mutable_bottom());
  layer->mutable_top()->Swap(old->mutable_top());
  if (old->has_name()) layer->set_name(old->name());
  layer->mutable_include()->Swap(old->mutable_include());
  layer->mutable_exclude()->Swap(old->mutable_exclude());
  if (old->has_type()) layer->set_type(layer_type_name(old->type()));
  layer->mutable_blobs()->Swap(old->mutable_blobs());
  layer->mutable_loss_weight()->Swap(old->mutable_loss_weight());
  for (int i = 0; i < old->param_size(); ++i) param_at(i, layer)->set_name(old->param(i));
  for (int i = 0; i < old->blob_share_mode_size(); ++i) {
    param_at(i, layer)->set_share_mode(
        static_cast<caffe::ParamSpec::DimCheckMode>(old->blob_share_mode(i)));
  }
  for (int i = 0; i < old->blobs_lr_size(); ++i) param_at(i, layer)->set_lr_mult(old->blobs_lr(i));
  for (int i = 0; i < old->weight_decay_size(); ++i) {
    param_at(i, layer)->set_decay_mult(old->weight_decay(i));
  }
  move_parameters(old, layer);
  if (old->has_crema_source()) move_positions(old->crema_source(), layer->mutable_crema_source());
}

/// Moves scale, mean_file, crop_size and mirror from a data layer's parameters to transform_param.
template <class Parameter>
bool move_transform(const char* name, Parameter* from, V1* layer) {
  if (!from->has_scale() && !from->has_mean_file() && !from->has_crop_size() &&
      !from->has_mirror()) {
    return false;
  }
  caffe::TransformationParameter* to = layer->mutable_transform_param();
  if (from->has_scale()) to->set_scale(from->scale());
  if (from->has_mean_file()) to->set_mean_file(from->mean_file());
  if (from->has_crop_size()) to->set_crop_size(from->crop_size());
  if (from->has_mirror()) to->set_mirror(from->mirror());
  from->clear_scale();
  from->clear_mean_file();
  from->clear_crop_size();
  from->clear_mirror();
  if (layer->has_crema_source()) {
    for (const char* field : {"scale", "mean_file", "crop_size", "mirror"}) {
      copy_positions(layer->crema_source(), fmt::format("{}.{}", name, field),
                     fmt::format("transform_param.{}", field), layer->mutable_crema_source());
    }
  }
  return true;
}

}  // namespace

std::string layer_type_name(V1::LayerType type) {
  for (const TypeName& row : kTypeNames) {
    if (row.type == type) return row.name;
  }
  return "";
}

void upgrade_v1_transforms(caffe::NetParameter* net, UpgradeNotes* notes) {
  for (V1& layer : *net->mutable_layers()) {
    bool moved = false;
    if (layer.type() == V1::DATA && layer.has_data_param()) {
      moved = move_transform("data_param", layer.mutable_data_param(), &layer);
    } else if (layer.type() == V1::IMAGE_DATA && layer.has_image_data_param()) {
      moved = move_transform("image_data_param", layer.mutable_image_data_param(), &layer);
    } else if (layer.type() == V1::WINDOW_DATA && layer.has_window_data_param()) {
      moved = move_transform("window_data_param", layer.mutable_window_data_param(), &layer);
    }
    if (moved && notes) {
      notes->push_back(
          fmt::format("the transformation of layer \"{}\" moved to transform_param", layer.name()));
    }
  }
}

std::string ignored_transforms(const caffe::NetParameter& net) {
  std::vector<std::string> found, fields;
  const auto look = [&](const caffe::LayerParameter& layer, const std::string& message,
                        const auto& param, bool scale_counts) {
    const auto note = [&](const std::string& field) {
      const std::string place = position_of(layer, fmt::format("{}.{}", message, field));
      found.push_back(fmt::format("{}: {}.{}",
                                  place.empty() ? fmt::format("layer \"{}\"", layer.name()) : place,
                                  message, field));
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
    };
    if (param.has_scale() && !scale_counts) note("scale");
    if (param.has_mean_file()) note("mean_file");
    if (param.has_crop_size()) note("crop_size");
    if (param.has_mirror()) note("mirror");
  };
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (layer.type() == "Data") look(layer, "data_param", layer.data_param(), false);
    if (layer.type() == "ImageData") {
      look(layer, "image_data_param", layer.image_data_param(), false);
    }
    if (layer.type() == "WindowData") {
      look(layer, "window_data_param", layer.window_data_param(), true);
    }
  }
  if (found.empty()) return "";
  return fmt::format("{} {} no effect in a `layer` (as in Caffe); write transform_param {{ {} }}",
                     fmt::join(found, ", "), found.size() == 1 ? "has" : "have",
                     fmt::join(fields, " "));
}

void upgrade_v1(caffe::NetParameter* net, UpgradeNotes* notes) {
  if (net->layers_size() == 0) return;
  for (V1& old : *net->mutable_layers()) upgrade_layer(&old, net->add_layer());
  net->clear_layers();
  if (notes) {
    notes->push_back(counted(net->layer_size(), "layer") +
                     " of the V1 form (`layers`) became `layer`");
  }
}

}  // namespace crema
