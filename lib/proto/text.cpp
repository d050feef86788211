#include "proto/text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <optional>
#include <vector>

#include "proto/file_kind.h"
#include "proto/fork_text.h"
#include "proto/text_errors.h"
#include "proto/text_map.h"

namespace crema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using InfoTree = TextFormat::ParseInfoTree;
using Location = TextFormat::ParseLocation;

constexpr int kMaxNesting = 100;

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!first) first = ParseComplaint{line, column, message};
  }
  std::optional<ParseComplaint> first;
};

/// Fills the positions of a message and what is in it from the parser's record.
class PositionWriter {
 public:
  PositionWriter(const TextMap& map, const std::string& file) : map_(map), file_(file) {}

  void fill(const InfoTree& tree, Location own, Message* message) const {
    caffe::SourcePositions* source = source_of(message);
    if (!source) return;
    const TextPlace place = place_of(own);
    source->set_file(file_);
    source->set_line(place.line);
    source->set_column(place.column);
    walk(tree, "", source, message);
  }

 private:
  static caffe::SourcePositions* source_of(Message* message) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName("crema_source");
    if (!field) return nullptr;
    auto* source = dynamic_cast<caffe::SourcePositions*>(
        message->GetReflection()->MutableMessage(message, field));
    if (source) source->Clear();
    return source;
  }

  TextPlace place_of(Location location) const {
    return map_.place(map_.offset(location.line, location.column));
  }

  /// Where the index-th value stands. A list [a, b] is recorded as one, so all its values get its
  /// place.
  static Location location_of(const InfoTree& tree, const FieldDescriptor* field, int index,
                              int size) {
    if (!field->is_repeated()) return tree.GetLocation(field, -1);
    const bool one_by_one = tree.GetLocation(field, size - 1).line >= 0;
    return tree.GetLocation(field, one_by_one ? index : 0);
  }

  void walk(const InfoTree& tree, const std::string& prefix, caffe::SourcePositions* source,
            Message* message) const {
    const auto* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int size = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < size; ++i) {
        const Location location = location_of(tree, field, i, size);
        if (location.line < 0) continue;
        const std::string path =
            prefix + field->name() + (field->is_repeated() ? fmt::format("[{}]", i) : "");
        Message* inner = nullptr;
        if (field->message_type()) {
          inner = field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                       : reflection->MutableMessage(message, field);
        }
        const InfoTree* nested =
            inner ? tree.GetTreeForNested(field, field->is_repeated() ? i : -1) : nullptr;
        if (inner && inner->GetDescriptor()->FindFieldByName("crema_source")) {
          if (nested) fill(*nested, location, inner);
          continue;
        }
        const TextPlace place = place_of(location);
        caffe::FieldPosition* position = source->add_field();
        position->set_path(path);
        position->set_line(place.line);
        position->set_column(place.column);
        // Weights in text form would be millions of positions that nobody asks for.
        if (nested && inner->GetDescriptor() != caffe::BlobProto::descriptor()) {
          walk(*nested, path + ".", source, inner);
        }
      }
    }
  }

  const TextMap& map_;
  const std::string& file_;
};

/// Follows a path such as "layer[0].clip_param.min" as far as the text goes; the last location
/// found.
Location locate(const InfoTree& root, const google::protobuf::Descriptor& type,
                const std::string& path) {
  const InfoTree* tree = &root;
  const google::protobuf::Descriptor* descriptor = &type;
  Location found(0, 0);
  for (std::size_t begin = 0; tree && descriptor && begin < path.size();) {
    std::size_t end = std::min(path.find('.', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    int index = -1;
    if (const std::size_t bracket = name.find('['); bracket != std::string::npos) {
      index = std::atoi(name.c_str() + bracket + 1);
      name.resize(bracket);
    }
    const FieldDescriptor* field = descriptor->FindFieldByName(name);
    if (!field) break;
    const Location location = tree->GetLocation(field, index);
    if (location.line < 0) break;
    found = location;
    descriptor = field->message_type();
    tree = descriptor ? tree->GetTreeForNested(field, index) : nullptr;
  }
  return found;
}

void require_complete(const TextMap& map, const std::string& file, const InfoTree& tree,
                      const Message& message) {
  if (message.IsInitialized()) return;
  std::vector<std::string> missing;
  message.FindInitializationErrors(&missing);
  const std::string path = missing.empty() ? "" : missing.front();
  const Location location = locate(tree, *message.GetDescriptor(), path);
  // Within the layer, so that its name is found.
  const std::size_t offset = map.offset(location.line, location.column);
  std::string field = path;
  for (const char* outer : {"layer[", "layers["}) {
    const std::size_t at = field.rfind(outer);
    if (at != std::string::npos) field = field.substr(field.find("].", at) + 2);
  }
  throw error_in_text(map, file, offset, fmt::format("{} is required but not given", field));
}

}  // namespace

void parse_text(const std::string& text, const std::string& file_name, Message* out, ForkUse* use) {
  std::string_view body = text;
  if (body.substr(0, 3) == "\xEF\xBB\xBF") body.remove_prefix(3);
  const FileKind kind = kind_of(body);
  require(!is_foreign(kind), "{} is {}, not prototxt", file_name, describe(kind));
  require(body.size() <= std::size_t{1} << 30, "{} is too large for prototxt: {} bytes", file_name,
          body.size());

  std::string treated;
  if (use) {
    treated = treat_fork_fields(TextMap(body), *out->GetDescriptor(), use);
    body = treated;
  }
  const TextMap map(body);
  FirstError errors;
  InfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(kMaxNesting);
  parser.AllowPartialMessage(true);
  google::protobuf::io::ArrayInputStream input(body.data(), static_cast<int>(body.size()));
  if (!parser.Parse(&input, out)) {
    throw explain_parse_error(
        map, file_name, *out->GetDescriptor(),
        errors.first.value_or(ParseComplaint{0, 0, "this is not protobuf text format"}));
  }
  require_complete(map, file_name, tree, *out);
  PositionWriter(map, file_name).fill(tree, Location(0, 0), out);
}

std::string print_text(const Message& message) {
  std::unique_ptr<Message> copy;
  if (has_positions(message)) {
    copy.reset(message.New());
    copy->CopyFrom(message);
    strip_positions(copy.get());
  }
  TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(copy ? *copy : message, &text);
  return text;
}

}  // namespace crema
