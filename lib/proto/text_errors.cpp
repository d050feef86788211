#include "proto/text_errors.h"

#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"
#include "caffe.pb.h"
#include "proto/fork_fields.h"
#include "proto/upgrade.h"

namespace crema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

/// "PoolingParameter.Engine" for "caffe.PoolingParameter.Engine".
template <class Described>
std::string plain_name(const Described& described) {
  const std::string& full = described.full_name();
  const std::string prefix = "caffe.";
  return full.compare(0, prefix.size(), prefix) == 0 ? full.substr(prefix.size()) : full;
}

/// The text between `before` and `after` in a message that begins with `before`.
std::optional<std::string> between(const std::string& text, const std::string& before,
                                   const std::string& after) {
  if (text.compare(0, before.size(), before) != 0) return std::nullopt;
  const std::size_t end = text.find(after, before.size());
  if (end == std::string::npos) return std::nullopt;
  return text.substr(before.size(), end - before.size());
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::vector<std::string> field_names(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->number() < 10000) names.push_back(message.field(i)->name());
  }
  return names;
}

std::vector<std::string> value_names(const EnumDescriptor& enumeration) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(enumeration.value_count()));
  for (int i = 0; i < enumeration.value_count(); ++i) names.push_back(enumeration.value(i)->name());
  return names;
}

/// The messages that the blocks stand for, the root first. Ends early where the text makes no
/// sense.
std::vector<const Descriptor*> messages_of(const Descriptor& root,
                                           const std::vector<TextBlock>& blocks) {
  std::vector<const Descriptor*> messages{&root};
  for (const TextBlock& block : blocks) {
    const FieldDescriptor* field = messages.back()->FindFieldByName(block.name);
    if (!field || !field->message_type()) break;
    messages.push_back(field->message_type());
  }
  return messages;
}

/// What the layer-parameter messages in `message` that have such a field are called, at most three.
std::vector<std::string> homes_of(const Descriptor& message, const std::string& field) {
  std::vector<std::string> homes;
  for (int i = 0; i < message.field_count(); ++i) {
    const Descriptor* inner = message.field(i)->message_type();
    if (inner && message.field(i)->number() < 10000 && inner->FindFieldByName(field)) {
      homes.push_back(message.field(i)->name());
    }
  }
  if (homes.size() > 3) homes.clear();
  return homes;
}

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// The hint at the nearest field. "_param" must not make all layer parameters look alike.
std::string similar_field(const std::string& field, const Descriptor& message) {
  const std::string_view suffix = "_param";
  const bool parameter = ends_with(field, suffix);
  const std::size_t cut = parameter ? suffix.size() : 0;
  std::vector<std::string> candidates;
  for (const std::string& name : field_names(message)) {
    if (ends_with(name, suffix) == parameter)
      candidates.push_back(name.substr(0, name.size() - cut));
  }
  const std::string nearest = nearest_name(field.substr(0, field.size() - cut), candidates);
  if (nearest.empty()) return parameter ? "" : did_you_mean(field, field_names(message));
  return fmt::format("; did you mean \"{}\"?", parameter ? nearest + "_param" : nearest);
}

std::string unknown_field(const std::string& field, const std::vector<TextBlock>& blocks,
                          const std::vector<const Descriptor*>& messages) {
  const Descriptor& message = *messages.back();
  const std::string name = plain_name(message);
  const std::string where = messages.size() == 1
                                ? (name == "SolverParameter" ? "a solver" : "a net")
                            : name == "LayerParameter"   ? "a layer"
                            : name == "V1LayerParameter" ? "an old (V1) layer"
                            : name == "V0LayerParameter" ? "an old (V0) layer"
                                                         : blocks[messages.size() - 2].name;
  const std::string known = plain_name(*messages.front());
  std::string text = known == "NetParameter" || known == "SolverParameter" || messages.size() > 1
                         ? fmt::format("unknown field \"{}\" in {}", field, where)
                         : fmt::format("unknown field \"{}\"", field);

  if (const std::string advice = advice_for_field(name, field); !advice.empty()) {
    return text + "; " + advice;
  }
  if (const std::string refusal = fork_refusal(name, field, "field"); !refusal.empty()) {
    return fmt::format("{}; {}", text, refusal);
  }
  if (messages.size() == 1 && name == "NetParameter") {
    if (field == "item") return text + "; is this a label map?";
    if (caffe::SolverParameter::descriptor()->FindFieldByName(field)) {
      return text + "; is this a solver? A net was expected";
    }
  }
  if (messages.size() == 1 && name == "SolverParameter" &&
      caffe::NetParameter::descriptor()->FindFieldByName(field)) {
    return text + "; is this a net? A solver was expected";
  }
  for (std::size_t outer = messages.size() - 1; outer-- > 0;) {
    if (messages[outer]->FindFieldByName(field) && messages[outer] != &message) {
      return text + fmt::format("; it belongs outside of \"{} {{\": is a }} missing before it?",
                                blocks[outer].name);
    }
  }
  if (const auto homes = homes_of(message, field); !homes.empty()) {
    return text + fmt::format("; it belongs into {}", fmt::join(homes, " or "));
  }
  if (const std::string hint = similar_field(field, message); !hint.empty()) return text + hint;
  const bool of_layer_type = name == "LayerParameter" && ends_with(field, "_param");
  return of_layer_type ? text + "; is the net made for a fork of Caffe?" : text;
}

std::string unknown_value(const std::string& value, const std::string& field_name,
                          const Descriptor& message) {
  const bool v1_type = message.name() == "V1LayerParameter" && field_name == "type";
  std::string text = v1_type ? fmt::format("unknown V1 layer type \"{}\"", value)
                             : fmt::format("\"{}\" is not a value of {}", value, field_name);
  const FieldDescriptor* field = message.FindFieldByName(field_name);
  if (!field || !field->enum_type()) return text;
  const EnumDescriptor& enumeration = *field->enum_type();
  if (const std::string refusal = fork_refusal(plain_name(enumeration), value, "value");
      !refusal.empty()) {
    return fmt::format("{}; {}", text, refusal);
  }
  const std::vector<std::string> names = value_names(enumeration);
  if (const std::string hint = did_you_mean(value, names); !hint.empty()) return text + hint;
  if (v1_type) return text + "; is the net made for a fork of Caffe?";
  if (names.size() > 12) return text;
  return text + fmt::format("; there are {}", fmt::join(names, ", "));
}

/// The type in today's form for a V1 type name, or "".
std::string modern_type(const std::string& v1_name) {
  caffe::V1LayerParameter::LayerType type;
  if (!caffe::V1LayerParameter::LayerType_Parse(v1_name, &type)) return "";
  return layer_type_name(type);
}

bool is_bad_escape(const std::string& message) {
  return message.find("escape sequence") != std::string::npos;
}

/// "Expected string, got: CONVOLUTION" and whatever else says what was expected.
std::string expected(const std::string& message, const Descriptor& in) {
  const std::string::size_type got_at = message.find(", got: ");
  const std::string got = got_at == std::string::npos ? "" : message.substr(got_at + 7);
  std::string text = message;
  text[0] = 'e';
  if (starts_with(text, "expected string") && in.name() == "LayerParameter") {
    if (const std::string type = modern_type(got); !type.empty()) {
      return text + fmt::format("; in a `layer` block write type: \"{}\"", type);
    }
  }
  if (starts_with(text, "expected integer or identifier") && in.name() == "V1LayerParameter") {
    return text +
           "; in an old `layers` block the type is a name without quotes, such as CONVOLUTION "
           "(types that came later need a `layer` block)";
  }
  if (starts_with(text, "expected string")) return text + "; is a quote missing?";
  return text;
}

std::string explain(const std::string& message, const std::vector<TextBlock>& blocks,
                    const std::vector<const Descriptor*>& messages) {
  if (const auto field = between(message, "Non-repeated field \"", "\" is specified")) {
    return fmt::format("\"{}\" is given twice", *field);
  }
  if (const auto value = between(message, "Unknown enumeration value of \"", "\" for field \"")) {
    const auto field = between(message.substr(message.find("for field")), "for field \"", "\"");
    return unknown_value(*value, field.value_or(""), *messages.back());
  }
  if (const auto field = between(message, "Invalid value for boolean field \"", "\"")) {
    return fmt::format("{} takes true or false", *field);
  }
  if (is_bad_escape(message)) {
    return "a backslash in a string begins an escape sequence, and this is none; in paths use / or "
           "\\\\";
  }
  if (starts_with(message, "String literals cannot cross") ||
      starts_with(message, "Unexpected end of string")) {
    return "the string does not end on its line; is a quote missing?";
  }
  if (starts_with(message, "Interpreting non ascii codepoint") ||
      starts_with(message, "Invalid control characters")) {
    return "a character that cannot stand outside a string; was it pasted from a formatted page "
           "(typographic quotes or dashes)?";
  }
  if (starts_with(message, "Expected identifier, got: }") && blocks.empty()) {
    return "one } too many";
  }
  if (starts_with(message, "Expected ")) return expected(message, *messages.back());
  std::string text = message;
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// The offset of a line left behind by a merge, if any.
std::optional<std::size_t> conflict_marker(std::string_view text) {
  for (std::size_t line = 0; line < text.size();) {
    const std::string_view rest = text.substr(line, 8);
    if (rest == "<<<<<<< " || rest == ">>>>>>> ") return line;
    const std::size_t end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::nullopt;
}

/// The word or symbol that the parser stopped at may stand after blanks.
std::size_t skip_blanks(std::string_view text, std::size_t offset) {
  while (offset < text.size() && std::isspace(static_cast<unsigned char>(text[offset]))) ++offset;
  return offset;
}

}  // namespace

Error error_in_text(const TextMap& map, const std::string& file_name, std::size_t offset,
                    const std::string& message, std::size_t within) {
  const TextPlace place = map.place(offset);
  Error error(ErrorKind::kUser, message);
  error.add_context(
      map.layer_label(map.blocks_around(within == std::string::npos ? offset : within)));
  error.add_context(fmt::format("{}:{}:{}", file_name, place.line, place.column));
  return error;
}

Error explain_parse_error(const TextMap& map, const std::string& file_name, const Descriptor& root,
                          const ParseComplaint& complaint) {
  if (const auto marker = conflict_marker(map.text())) {
    return error_in_text(
        map, file_name, *marker,
        "a merge-conflict marker was left in the file; choose one side and remove it");
  }
  std::size_t offset = map.offset(complaint.line, complaint.column);
  const std::string& message = complaint.message;
  const auto field = between(message, "Message type \"", "\" has no field named \"");
  if (field) {
    const auto name =
        between(message.substr(message.find("has no field")), "has no field named \"", "\"");
    offset = map.word_before(offset, name.value_or(""));
    const auto blocks = map.blocks_around(offset);
    const auto messages = messages_of(root, blocks);
    return error_in_text(map, file_name, offset,
                         unknown_field(name.value_or("?"), blocks, messages));
  }
  if (const auto value = between(message, "Unknown enumeration value of \"", "\"")) {
    offset = map.word_before(offset, *value);
  }
  if (const std::size_t at = message.find(". Value: \""); at != std::string::npos) {
    const auto value = between(message.substr(at), ". Value: \"", "\"");
    offset = map.word_before(offset, value.value_or(""));
  }
  if (const auto twice = between(message, "Non-repeated field \"", "\"")) {
    offset = map.word_before(offset, *twice);
  }
  const auto blocks = map.blocks_around(offset);
  if (skip_blanks(map.text(), offset) >= map.text().size() && !blocks.empty()) {
    const TextBlock& open = blocks.back();
    return error_in_text(map, file_name, open.offset,
                         fmt::format("the file ends before the }} of \"{} {{\"", open.name),
                         open.body);
  }
  return error_in_text(map, file_name, offset, explain(message, blocks, messages_of(root, blocks)));
}

}  // namespace crema
