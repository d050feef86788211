#include "proto/fork_binary.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "proto/positions.h"

namespace crema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;

template <class Described>
std::string plain_name(const Described& described) {
  const std::string& full = described.full_name();
  return full.substr(full.find('.') + 1);
}

char wire_of(const UnknownField& field) {
  switch (field.type()) {
    case UnknownField::TYPE_VARINT:
      return 'v';
    case UnknownField::TYPE_FIXED32:
      return 'f';
    case UnknownField::TYPE_LENGTH_DELIMITED:
      return 'b';
    default:
      return 0;
  }
}

float float_of(const UnknownField& field) {
  const std::uint32_t bits = field.fixed32();
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// As text would have it.
std::string text_of(const UnknownField& field) {
  switch (field.type()) {
    case UnknownField::TYPE_VARINT:
      return fmt::format("{}", static_cast<std::int64_t>(field.varint()));
    case UnknownField::TYPE_FIXED32:
      return fmt::format("{}", float_of(field));
    case UnknownField::TYPE_LENGTH_DELIMITED:
      return field.length_delimited();
    default:
      return "";
  }
}

/// The rows for an unknown field. A number that the schema has is an enumeration with a value that
/// it lacks.
std::vector<const ForkField*> rows_of(const Message& message, const UnknownField& field,
                                      int forks) {
  const char wire = wire_of(field);
  const FieldDescriptor* known = message.GetDescriptor()->FindFieldByNumber(field.number());
  if (known && known->enum_type() && wire == 'v') {
    const auto value = static_cast<std::int64_t>(field.varint());
    if (value <= 0 || value > 1000) return {};
    return fork_rows(plain_name(*known->enum_type()), static_cast<int>(value), wire, forks);
  }
  return fork_rows(plain_name(*message.GetDescriptor()), field.number(), wire, forks);
}

/// Calls `visit` for every message below and including `message`, blobs left out: they are many and
/// have none of this. `path` ends in that of the message, `layer` is the one around it.
using Visit = std::function<void(Message*, const std::string& layer, const std::string& path)>;
void walk(Message* message, const std::string& layer, const std::string& path, const Visit& visit) {
  visit(message, layer, path);
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto* type = field->message_type();
    if (!type || type == caffe::BlobProto::descriptor() ||
        type == caffe::SourcePositions::descriptor()) {
      continue;
    }
    const auto enter = [&](Message* inner) {
      if (const auto* of_layer = dynamic_cast<const caffe::LayerParameter*>(inner)) {
        walk(inner, of_layer->name(), "", visit);
      } else if (const auto* of_v1 = dynamic_cast<const caffe::V1LayerParameter*>(inner)) {
        walk(inner, of_v1->name(), "", visit);
      } else {
        walk(inner, layer, path + field->name() + ".", visit);
      }
    };
    if (!field->is_repeated()) {
      enter(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      enter(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
}

/// Sets the field that the schema has for `row`; false if the value is damaged.
bool convert(Message* message, const ForkField& row, const UnknownField& value) {
  const Reflection* reflection = message->GetReflection();
  const bool is_value = row.message.find('.') != std::string_view::npos;
  const FieldDescriptor* field =
      is_value ? message->GetDescriptor()->FindFieldByNumber(value.number())
               : message->GetDescriptor()->FindFieldByName(
                     std::string(row.treatment == Treatment::kRenamed ? row.note : row.field));
  CREMA_ASSERT(field != nullptr);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection->SetBool(message, field, value.varint() != 0);
      return true;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection->SetUInt32(message, field, static_cast<std::uint32_t>(value.varint()));
      return true;
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection->SetFloat(message, field, float_of(value));
      return true;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection->SetEnum(message, field,
                          field->enum_type()->FindValueByName(std::string(row.field)));
      return true;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return reflection->MutableMessage(message, field)
          ->ParsePartialFromString(value.length_delimited());
    default:
      return false;
  }
}

[[noreturn]] void refuse(const ForkField& row, int forks, const std::string& layer,
                         const std::string& path) {
  fail("{}{}{} of {} changes results and is not supported{}",
       layer.empty() ? "" : fmt::format("layer \"{}\": ", layer), path, row.field,
       fork_names(forks), row.note.empty() ? "" : fmt::format(" ({})", row.note));
}

/// One unknown field; whether it is done with and can go.
bool treat(Message* message, const UnknownField& field, const std::vector<const ForkField*>& rows,
           const std::string& layer, const std::string& path, ForkUse* use) {
  if (rows.empty()) return false;
  int forks = 0;
  for (const ForkField* row : rows) forks |= row->fork;
  if (rows.size() > 1 && (rows[0]->field != rows[1]->field)) {
    // Its number means one thing to each fork. Harmless only if it is to both.
    for (const ForkField* row : rows) {
      if (row->treatment == Treatment::kIgnored || is_neutral(*row, text_of(field))) continue;
      fail("{}field {}{} is {} to NVIDIA's Caffe and {} to Intel's; say by --dialect whose it is",
           layer.empty() ? "" : fmt::format("layer \"{}\": ", layer), path, field.number(),
           rows[0]->fork == kNvidia ? rows[0]->field : rows[1]->field,
           rows[0]->fork == kNvidia ? rows[1]->field : rows[0]->field);
    }
    return true;
  }
  const ForkField& row = *rows.front();
  if (row.treatment == Treatment::kConverted || row.treatment == Treatment::kRenamed) {
    require(convert(message, row, field), "{}{}{} is damaged",
            layer.empty() ? "" : fmt::format("layer \"{}\": ", layer), path, row.field);
    return true;
  }
  if (row.treatment == Treatment::kRefused && !is_neutral(row, text_of(field))) {
    refuse(row, forks, layer, path);
  }
  if (row.treatment != Treatment::kIgnored) return true;
  use->ignored.push_back({path + std::string(row.field),
                          layer.empty() ? "the net" : fmt::format("layer \"{}\"", layer), forks});
  return true;
}

/// Intel's numbers that mean something else to BVLC, with the same type on the wire.
void mend_intel_numbers(Message* message, const std::string& layer, const std::string& path) {
  if (auto* pooling = dynamic_cast<caffe::PoolingParameter*>(message)) {
    // 13: avg_include_pad, where BVLC has round_mode.
    if (pooling->has_round_mode() && static_cast<int>(pooling->round_mode()) == 0) {
      refuse(*fork_rows("PoolingParameter", "avg_include_pad").front(), kIntel, layer, path);
    }
    pooling->clear_round_mode();
  }
  if (auto* loss = dynamic_cast<caffe::LossParameter*>(message)) {
    if (loss->has_normalization() && static_cast<int>(loss->normalization()) == 3) {
      refuse(*fork_rows("LossParameter.NormalizationMode", "PRE_FIXED").front(), kIntel, layer,
             path);
    }
  }
}

}  // namespace

Dialect treat_fork_fields(caffe::NetParameter* net, Dialect given, const std::string& file,
                          ForkUse* use) {
  constexpr int kBoth = kNvidia | kIntel;
  walk(net, "", "", [&](Message* message, const std::string&, const std::string&) {
    const auto& unknown = message->GetReflection()->GetUnknownFields(*message);
    for (int i = 0; i < unknown.field_count(); ++i) {
      const auto rows = rows_of(*message, unknown.field(i), kBoth);
      if (rows.size() == 1) use->told |= rows.front()->fork;
    }
  });
  const Dialect dialect = dialect_of(*use, given, file);
  if (given == Dialect::kBvlc) return dialect;
  const int forks = dialect == Dialect::kNvidia  ? int{kNvidia}
                    : dialect == Dialect::kIntel ? int{kIntel}
                                                 : kBoth;
  walk(net, "", "", [&](Message* message, const std::string& layer, const std::string& path) {
    // First what BVLC's numbers were wrongly taken for, as conversions set fields anew.
    if (dialect == Dialect::kIntel) mend_intel_numbers(message, layer, path);
    auto* unknown = message->GetReflection()->MutableUnknownFields(message);
    google::protobuf::UnknownFieldSet kept;
    for (int i = 0; i < unknown->field_count(); ++i) {
      const UnknownField field = unknown->field(i);
      if (!treat(message, field, rows_of(*message, field, forks), layer, path, use)) {
        kept.AddField(field);
      }
    }
    if (kept.field_count() != unknown->field_count()) unknown->Swap(&kept);
  });
  return dialect;
}

}  // namespace crema
