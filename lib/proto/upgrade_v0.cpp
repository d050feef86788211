// V0 (2013) to V1. An entry of that age has its connections outside and all else in an inner
// message, where the fields of all types lie side by side.
#include <google/protobuf/message.h>

#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "proto/positions.h"
#include "proto/upgrade.h"

namespace crema {
namespace {

using V0 = caffe::V0LayerParameter;
using V1 = caffe::V1LayerParameter;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct TypeName {
  const char* v0;
  V1::LayerType v1;
};
constexpr TypeName kTypes[] = {
    {"accuracy", V1::ACCURACY},
    {"bnll", V1::BNLL},
    {"concat", V1::CONCAT},
    {"conv", V1::CONVOLUTION},
    {"data", V1::DATA},
    {"dropout", V1::DROPOUT},
    {"euclidean_loss", V1::EUCLIDEAN_LOSS},
    {"flatten", V1::FLATTEN},
    {"hdf5_data", V1::HDF5_DATA},
    {"hdf5_output", V1::HDF5_OUTPUT},
    {"im2col", V1::IM2COL},
    {"images", V1::IMAGE_DATA},
    {"infogain_loss", V1::INFOGAIN_LOSS},
    {"innerproduct", V1::INNER_PRODUCT},
    {"lrn", V1::LRN},
    {"multinomial_logistic_loss", V1::MULTINOMIAL_LOGISTIC_LOSS},
    {"pool", V1::POOLING},
    {"relu", V1::RELU},
    {"sigmoid", V1::SIGMOID},
    {"softmax", V1::SOFTMAX},
    {"softmax_loss", V1::SOFTMAX_LOSS},
    {"split", V1::SPLIT},
    {"tanh", V1::TANH},
    {"window_data", V1::WINDOW_DATA},
};

/// Where an inner field goes in a layer of one type ("" for every type).
struct FieldMove {
  std::string_view field, type, message, to;
};
constexpr FieldMove kMoves[] = {
    {"num_output", "conv", "convolution_param", "num_output"},
    {"num_output", "innerproduct", "inner_product_param", "num_output"},
    {"biasterm", "conv", "convolution_param", "bias_term"},
    {"biasterm", "innerproduct", "inner_product_param", "bias_term"},
    {"weight_filler", "conv", "convolution_param", "weight_filler"},
    {"weight_filler", "innerproduct", "inner_product_param", "weight_filler"},
    {"bias_filler", "conv", "convolution_param", "bias_filler"},
    {"bias_filler", "innerproduct", "inner_product_param", "bias_filler"},
    {"pad", "conv", "convolution_param", "pad"},
    {"pad", "pool", "pooling_param", "pad"},
    {"kernelsize", "conv", "convolution_param", "kernel_size"},
    {"kernelsize", "pool", "pooling_param", "kernel_size"},
    {"group", "conv", "convolution_param", "group"},
    {"stride", "conv", "convolution_param", "stride"},
    {"stride", "pool", "pooling_param", "stride"},
    {"pool", "pool", "pooling_param", "pool"},
    {"dropout_ratio", "dropout", "dropout_param", "dropout_ratio"},
    {"local_size", "lrn", "lrn_param", "local_size"},
    {"alpha", "lrn", "lrn_param", "alpha"},
    {"beta", "lrn", "lrn_param", "beta"},
    {"k", "lrn", "lrn_param", "k"},
    {"source", "data", "data_param", "source"},
    {"source", "hdf5_data", "hdf5_data_param", "source"},
    {"source", "images", "image_data_param", "source"},
    {"source", "window_data", "window_data_param", "source"},
    {"source", "infogain_loss", "infogain_loss_param", "source"},
    {"batchsize", "data", "data_param", "batch_size"},
    {"batchsize", "hdf5_data", "hdf5_data_param", "batch_size"},
    {"batchsize", "images", "image_data_param", "batch_size"},
    {"batchsize", "window_data", "window_data_param", "batch_size"},
    {"rand_skip", "data", "data_param", "rand_skip"},
    {"rand_skip", "images", "image_data_param", "rand_skip"},
    {"scale", "", "transform_param", "scale"},
    {"meanfile", "", "transform_param", "mean_file"},
    {"cropsize", "", "transform_param", "crop_size"},
    {"mirror", "", "transform_param", "mirror"},
    {"shuffle_images", "images", "image_data_param", "shuffle"},
    {"new_height", "images", "image_data_param", "new_height"},
    {"new_width", "images", "image_data_param", "new_width"},
    {"concat_dim", "concat", "concat_param", "concat_dim"},
    {"det_fg_threshold", "window_data", "window_data_param", "fg_threshold"},
    {"det_bg_threshold", "window_data", "window_data_param", "bg_threshold"},
    {"det_fg_fraction", "window_data", "window_data_param", "fg_fraction"},
    {"det_context_pad", "window_data", "window_data_param", "context_pad"},
    {"det_crop_mode", "window_data", "window_data_param", "crop_mode"},
};

bool needs_upgrade(const caffe::NetParameter& net) {
  for (const V1& layer : net.layers()) {
    if (layer.has_layer()) return true;
  }
  return false;
}

/// The error's place and name for a layer.
std::string label(const V1& entry, std::string_view field) {
  std::string place = position_of(entry, std::string("layer.") + std::string(field));
  if (!place.empty()) place += ": ";
  return place + fmt::format("layer \"{}\"", entry.layer().name());
}

void set_number(Message* message, const FieldDescriptor* field, std::int64_t number) {
  const auto* reflection = message->GetReflection();
  const auto value = static_cast<std::uint32_t>(number);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(message, field, number != 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, static_cast<int>(number));
    case FieldDescriptor::CPPTYPE_UINT32:
      return field->is_repeated() ? reflection->AddUInt32(message, field, value)
                                  : reflection->SetUInt32(message, field, value);
    default:
      CREMA_ASSERT(false);
  }
}

/// Copies a field of V0 to one of another message that may have another kind of integer.
void copy_field(const V0& from, const FieldDescriptor* field, Message* to,
                const FieldDescriptor* target) {
  const auto* reflection = from.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return to->GetReflection()->SetFloat(to, target, reflection->GetFloat(from, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return to->GetReflection()->SetString(to, target, reflection->GetString(from, field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return to->GetReflection()
          ->MutableMessage(to, target)
          ->CopyFrom(reflection->GetMessage(from, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return set_number(to, target, reflection->GetBool(from, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return set_number(to, target, reflection->GetEnumValue(from, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return set_number(to, target, reflection->GetInt32(from, field));
    default:
      return set_number(to, target, reflection->GetUInt32(from, field));
  }
}

/// Moves one inner field to where layers of this type have it; false if they have no place for it.
bool move_field(const V0& inner, const FieldDescriptor* field,
                const caffe::SourcePositions& positions, V1* layer) {
  for (const FieldMove& move : kMoves) {
    if (move.field != field->name() || (!move.type.empty() && move.type != inner.type())) continue;
    const std::string name(move.message);
    Message* parameters = layer->GetReflection()->MutableMessage(
        layer, layer->GetDescriptor()->FindFieldByName(name));
    copy_field(inner, field, parameters,
               parameters->GetDescriptor()->FindFieldByName(std::string(move.to)));
    copy_positions(positions, "layer." + field->name(), fmt::format("{}.{}", name, move.to),
                   layer->mutable_crema_source());
    return true;
  }
  return false;
}

V1 upgrade_layer(V1* entry, UpgradeNotes* notes) {
  V0& inner = *entry->mutable_layer();
  V1 layer;
  if (entry->has_crema_source()) {
    const caffe::SourcePositions& old = entry->crema_source();
    caffe::SourcePositions* source = layer.mutable_crema_source();
    source->set_file(old.file());
    source->set_line(old.line());
    source->set_column(old.column());
    for (const char* outer : {"bottom", "top"}) copy_positions(old, outer, outer, source);
    for (const char* field : {"name", "type", "blobs", "blobs_lr", "weight_decay"}) {
      copy_positions(old, std::string("layer.") + field, field, source);
    }
  }
  layer.mutable_bottom()->Swap(entry->mutable_bottom());
  layer.mutable_top()->Swap(entry->mutable_top());
  if (inner.has_name()) layer.set_name(inner.name());
  if (inner.has_type()) {
    std::vector<std::string> known;
    for (const TypeName& row : kTypes) {
      known.push_back(row.v0);
      if (inner.type() == row.v0) layer.set_type(row.v1);
    }
    if (!layer.has_type()) {
      fail("{}: unknown type \"{}\" of a V0 layer{}", label(*entry, "type"), inner.type(),
           did_you_mean(inner.type(), known));
    }
  }
  layer.mutable_blobs()->Swap(inner.mutable_blobs());
  layer.mutable_blobs_lr()->Swap(inner.mutable_blobs_lr());
  layer.mutable_weight_decay()->Swap(inner.mutable_weight_decay());
  if (inner.has_hdf5_output_param() && inner.type() == "hdf5_output") {
    layer.mutable_hdf5_output_param()->Swap(inner.mutable_hdf5_output_param());
    inner.clear_hdf5_output_param();
  }

  std::vector<const FieldDescriptor*> fields;
  inner.GetReflection()->ListFields(inner, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == "name" || field->name() == "type") continue;
    if (!move_field(inner, field, entry->crema_source(), &layer) && notes) {
      notes->push_back(fmt::format("{}: \"{}\" was dropped, as layers of type \"{}\" do not use it",
                                   label(*entry, field->name()), field->name(), inner.type()));
    }
  }
  if (!entry->has_crema_source()) layer.clear_crema_source();
  return layer;
}

/// Gives convolution and pooling layers the `pad` of the "padding" layers they read, and drops
/// those.
void fold_padding(caffe::NetParameter* net, UpgradeNotes* notes) {
  std::map<std::string, int> producer;  // of each blob, so far
  std::vector<bool> padding(static_cast<std::size_t>(net->layers_size()));
  std::vector<bool> read(padding.size());
  for (int i = 0; i < net->layers_size(); ++i) {
    V1& entry = *net->mutable_layers(i);
    const std::string& type = entry.layer().type();
    padding[static_cast<std::size_t>(i)] = type == "padding";
    for (int j = 0; j < entry.bottom_size(); ++j) {
      const auto found = producer.find(entry.bottom(j));
      if (found == producer.end() || !padding[static_cast<std::size_t>(found->second)]) continue;
      const V1& source = net->layers(found->second);
      if (type != "conv" && type != "pool") {
        fail("{}: reads padding layer \"{}\", but only \"conv\" and \"pool\" layers can",
             label(entry, "type"), source.layer().name());
      }
      if (entry.bottom_size() != 1 || source.bottom_size() != 1) {
        fail("{}: a padding layer and the layer that reads it must have one bottom each",
             label(entry, "type"));
      }
      read[static_cast<std::size_t>(found->second)] = true;
      entry.mutable_layer()->set_pad(source.layer().pad());
      entry.set_bottom(0, source.bottom(0));
      if (entry.has_crema_source() && source.has_crema_source()) {
        copy_positions(source.crema_source(), "layer.pad", "layer.pad",
                       entry.mutable_crema_source());
      }
    }
    for (const std::string& top : entry.top()) producer[top] = i;
  }
  google::protobuf::RepeatedPtrField<V1> kept;
  for (int i = 0; i < net->layers_size(); ++i) {
    if (!padding[static_cast<std::size_t>(i)]) {
      kept.Add()->Swap(net->mutable_layers(i));
    } else if (!read[static_cast<std::size_t>(i)] && notes) {
      notes->push_back(fmt::format("{}: this padding layer was dropped, as no layer reads it",
                                   label(net->layers(i), "type")));
    }
  }
  net->mutable_layers()->Swap(&kept);
}

}  // namespace

void upgrade_v0(caffe::NetParameter* net, UpgradeNotes* notes) {
  if (!needs_upgrade(*net)) return;
  for (const V1& entry : net->layers()) {
    if (!entry.has_layer()) {
      fail_at(position_of(entry),
              "the net mixes V0 layers (`layers {{ layer {{ … }} }}`) with V1 layers");
    }
  }
  fold_padding(net, notes);

  // Caffe keeps these of the net, and nothing else.
  caffe::NetParameter upgraded;
  if (net->has_name()) upgraded.set_name(net->name());
  upgraded.mutable_input()->Swap(net->mutable_input());
  upgraded.mutable_input_dim()->Swap(net->mutable_input_dim());
  if (net->has_force_backward()) upgraded.set_force_backward(net->force_backward());
  if (net->has_crema_source()) upgraded.mutable_crema_source()->Swap(net->mutable_crema_source());
  for (V1& entry : *net->mutable_layers()) *upgraded.add_layers() = upgrade_layer(&entry, notes);
  net->Swap(&upgraded);
  if (notes) {
    notes->push_back(counted(net->layers_size(), "layer") +
                     " of the V0 form (`layers { layer { … } }`) became V1");
  }
}

}  // namespace crema
