#include "report/layer_reference.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "report/net_table.h"

namespace crema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

/// A FileDescriptorSet of caffe.proto, made by protoc when this was built.
constexpr unsigned char kSchema[] = {
#include "report/schema_bytes.inc"
};

/// The schema with its comments, which the message classes do not carry.
class Schema {
 public:
  Schema() {
    google::protobuf::FileDescriptorSet set;
    CREMA_ASSERT(set.ParseFromArray(kSchema, sizeof(kSchema)));
    for (const auto& file : set.file()) CREMA_ASSERT(pool_.BuildFile(file) != nullptr);
  }

  const Descriptor& message(const std::string& name) const {
    const Descriptor* found = pool_.FindMessageTypeByName("caffe." + name);
    CREMA_ASSERT(found != nullptr);
    return *found;
  }

 private:
  google::protobuf::DescriptorPool pool_;
};

/// Comments in one line.
std::string one_line(const std::string& comment) {
  std::string line;
  for (const std::string& word : split(comment, '\n')) {
    const auto begin = word.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    if (!line.empty()) line += ' ';
    line += word.substr(begin, word.find_last_not_of(' ') - begin + 1);
  }
  return line;
}

template <class Described>
std::string comment_of(const Described& described) {
  google::protobuf::SourceLocation location;
  if (!described.GetSourceLocation(&location)) return "";
  return one_line(location.leading_comments + "\n" + location.trailing_comments);
}

struct FieldRow {
  std::string name, type, preset, meaning;
};

std::string type_of(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->name();
  if (field.enum_type() != nullptr) {
    std::vector<std::string> values;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      values.emplace_back(field.enum_type()->value(i)->name());
    }
    type = fmt::format("{}", fmt::join(values, ", "));
  }
  return field.is_repeated() ? "list of " + type : type;
}

std::string preset_of(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::string(field.default_value_enum()->name());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fmt::format("{:g}", field.default_value_float());
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_STRING:
      return fmt::format("\"{}\"", field.default_value_string());
    default:
      return "";
  }
}

std::vector<FieldRow> rows_of(const Descriptor& message) {
  std::vector<FieldRow> rows;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.name() == "crema_source") continue;
    rows.push_back(
        {std::string(field.name()), type_of(field), preset_of(field), comment_of(field)});
  }
  return rows;
}

/// The messages of a layer type's fields: ("pooling_param", PoolingParameter).
std::vector<std::pair<std::string, const Descriptor*>> messages_of(const Schema& schema,
                                                                   const LayerType& type) {
  std::vector<std::pair<std::string, const Descriptor*>> messages;
  for (const std::string& name : split(type.parameters, ' ')) {
    const FieldDescriptor* field = schema.message("LayerParameter").FindFieldByName(name);
    CREMA_ASSERT(field != nullptr);
    messages.emplace_back(name, field->message_type());
  }
  return messages;
}

std::string count_text(int least, int most) {
  if (most >= kMany) return fmt::format("at least {}", least);
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

std::string blobs_text(const LayerType& type) {
  return fmt::format(
      "Bottoms: {}. Tops: {}.", count_text(type.min_bottoms, type.max_bottoms),
      type.same_count ? "as many as bottoms" : count_text(type.min_tops, type.max_tops));
}

/// What would end the cell of a table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string markdown_table(const std::vector<FieldRow>& rows) {
  std::string table = "| field | type | default | |\n| --- | --- | --- | --- |\n";
  for (const FieldRow& row : rows) {
    table +=
        fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.type, row.preset, cell(row.meaning));
  }
  return table;
}

std::string text_table(const std::vector<FieldRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const FieldRow& row : rows) {
    cells.push_back({"  " + row.name, row.type, row.preset, row.meaning});
  }
  return align_columns(cells, 4);
}

/// Messages within `message`, itself not included.
void collect(const Descriptor& message, std::set<const Descriptor*>* found) {
  for (int i = 0; i < message.field_count(); ++i) {
    const Descriptor* inner = message.field(i)->message_type();
    if (inner == nullptr || message.field(i)->name() == "crema_source") continue;
    if (found->insert(inner).second) collect(*inner, found);
  }
}

}  // namespace

std::string layer_list() {
  std::vector<std::vector<std::string>> rows;
  for (const LayerType& type : layer_types()) rows.push_back({type.type, type.summary});
  return align_columns(rows, 2);
}

std::string layer_page(const LayerType& type) {
  const Schema schema;
  std::string page = fmt::format("{}: {}\n{}\n", type.type, type.summary, blobs_text(type));
  std::set<const Descriptor*> inner;
  for (const auto& [name, message] : messages_of(schema, type)) {
    page += fmt::format("\n{}\n{}", name, text_table(rows_of(*message)));
    collect(*message, &inner);
  }
  for (const Descriptor* message : inner) {
    const std::string comment = comment_of(*message);
    page += fmt::format("\n{}{}{}\n{}", message->name(), comment.empty() ? "" : ": ", comment,
                        text_table(rows_of(*message)));
  }
  if (*type.differences != '\0') page += fmt::format("\nUnlike Caffe: {}\n", type.differences);
  return page;
}

std::string layers_markdown() {
  const Schema schema;
  std::string text =
      "# Layers\n\n"
      "<!-- Made by `layers --markdown` from lib/layers/all.cpp and proto/caffe.proto: change "
      "those. -->\n\n"
      "All layer types of Caffe 1.0, with the fields that a `layer { }` of each may have. "
      "`build/tools/layers TYPE` prints one of them.\n\n"
      "All of them run on the CPU. Fields of every layer:\n\n";
  std::vector<FieldRow> common;
  std::set<std::string> own;
  for (const LayerType& type : layer_types()) {
    for (const std::string& name : split(type.parameters, ' ')) own.insert(name);
  }
  for (FieldRow& row : rows_of(schema.message("LayerParameter"))) {
    const bool of_a_type = own.contains(row.name) || row.name == "python_param";
    if (!of_a_type) common.push_back(std::move(row));
  }
  text += markdown_table(common);
  // Shared ones, such as loss_param, are explained once, at the end.
  std::map<std::string, int> users;
  for (const LayerType& type : layer_types()) {
    for (const std::string& name : split(type.parameters, ' ')) ++users[name];
  }
  std::set<const Descriptor*> inner;
  std::set<std::string> shared;
  for (const LayerType& type : layer_types()) {
    text += fmt::format("\n## {}\n\n{}\n\n{}\n", type.type, type.summary, blobs_text(type));
    for (const auto& [name, message] : messages_of(schema, type)) {
      collect(*message, &inner);
      if (users[name] > 1) {
        shared.insert(name);
        text += fmt::format("\nFields of [`{0}`](#{0}).\n", name);
      } else {
        text += fmt::format("\n`{}`:\n\n{}", name, markdown_table(rows_of(*message)));
      }
    }
    if (*type.differences != '\0') text += fmt::format("\nUnlike Caffe: {}\n", type.differences);
  }
  for (const std::string& name : shared) {
    const Descriptor& message =
        *schema.message("LayerParameter").FindFieldByName(name)->message_type();
    text += fmt::format("\n## {}\n\n{}", name, markdown_table(rows_of(message)));
  }
  collect(schema.message("ParamSpec"), &inner);
  inner.insert(&schema.message("ParamSpec"));
  inner.insert(&schema.message("NetStateRule"));
  std::set<std::string> names;
  for (const Descriptor* message : inner) names.insert(std::string(message->name()));
  for (const std::string& name : names) {
    const Descriptor& message = schema.message(name);
    const std::string comment = comment_of(message);
    text += fmt::format("\n## {}\n\n{}{}{}", name, comment, comment.empty() ? "" : "\n\n",
                        markdown_table(rows_of(message)));
  }
  return text;
}

}  // namespace crema
