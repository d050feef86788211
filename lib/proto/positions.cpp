#include "proto/positions.h"

namespace crema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// "a.b[0]" -> "a.b" -> "a" -> "".
std::string_view parent_path(std::string_view path) {
  const std::size_t end = path.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

const caffe::FieldPosition* find(const caffe::SourcePositions& source, std::string_view path) {
  const std::string first = std::string(path) + "[0]";
  const caffe::FieldPosition* found = nullptr;
  for (const caffe::FieldPosition& field : source.field()) {
    if (field.path() == path) return &field;
    if (!found && field.path() == first) found = &field;
  }
  return found;
}

const FieldDescriptor* source_field(const Message& message) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("crema_source");
  return field && field->type() == FieldDescriptor::TYPE_MESSAGE ? field : nullptr;
}

/// Calls `visit` for the messages directly below that may carry positions.
template <class Visit>
void for_each_carrier(const Message& message, const Visit& visit) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        !field->message_type()->FindFieldByName("crema_source")) {
      continue;
    }
    visit(field);
  }
}

}  // namespace

std::string position(const caffe::SourcePositions& source, std::string_view path) {
  while (!path.empty()) {
    if (const caffe::FieldPosition* field = find(source, path)) {
      return fmt::format("{}:{}", source.file(), field->line());
    }
    path = parent_path(path);
  }
  return source.line() > 0 ? fmt::format("{}:{}", source.file(), source.line()) : std::string();
}

void copy_positions(const caffe::SourcePositions& from, std::string_view from_path,
                    std::string_view to_path, caffe::SourcePositions* to) {
  const int count = from.field_size();  // `to` may be `from`
  for (int i = 0; i < count; ++i) {
    const std::string_view path = from.field(i).path();
    if (path.substr(0, from_path.size()) != from_path) continue;
    const std::string_view rest = path.substr(from_path.size());
    if (!rest.empty() && rest[0] != '.' && rest[0] != '[') continue;
    const caffe::FieldPosition& old = from.field(i);
    const std::string renamed = std::string(to_path) + std::string(rest);
    const int line = old.line(), column = old.column();
    caffe::FieldPosition* field = to->add_field();
    field->set_path(renamed);
    field->set_line(line);
    field->set_column(column);
  }
}

bool has_positions(const Message& message) {
  const FieldDescriptor* own = source_field(message);
  if (own && message.GetReflection()->HasField(message, own)) return true;
  bool found = false;
  const auto* reflection = message.GetReflection();
  for_each_carrier(message, [&](const FieldDescriptor* field) {
    if (!field->is_repeated()) {
      found = found || has_positions(reflection->GetMessage(message, field));
      return;
    }
    for (int i = 0; i < reflection->FieldSize(message, field) && !found; ++i) {
      found = has_positions(reflection->GetRepeatedMessage(message, field, i));
    }
  });
  return found;
}

void strip_positions(Message* message) {
  const auto* reflection = message->GetReflection();
  if (const FieldDescriptor* own = source_field(*message)) reflection->ClearField(message, own);
  for_each_carrier(*message, [&](const FieldDescriptor* field) {
    if (!field->is_repeated()) {
      strip_positions(reflection->MutableMessage(message, field));
      return;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      strip_positions(reflection->MutableRepeatedMessage(message, field, i));
    }
  });
}

}  // namespace crema
