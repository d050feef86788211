#include "proto/fork_text.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <vector>

#include "caffe.pb.h"

namespace crema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::Tokenizer;

constexpr int kMaxNesting = 100;
constexpr int kFirstOwnField = 10000;

struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text;  ///< "": blanks
};

class Silent : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {
    failed = true;
  }
  bool failed = false;
};

template <class Described>
std::string plain_name(const Described& described) {
  const std::string& full = described.full_name();
  return full.substr(full.find('.') + 1);
}

/// Follows text format token by token, knowing of each message which one it is as long as the
/// schema goes.
class ForkScan {
 public:
  ForkScan(const TextMap& map, ForkUse* use)
      : map_(map),
        use_(use),
        input_(map.text().data(), static_cast<int>(map.text().size())),
        tokens_(&input_, &errors_) {
    tokens_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokens_.set_allow_f_after_float(true);
    tokens_.set_require_space_after_number(false);
    tokens_.set_allow_multiline_strings(true);
    tokens_.Next();
  }

  std::vector<Edit> run(const Descriptor& root) {
    while (ok() && !at_end()) field(&root, "", 0);
    return std::move(edits_);
  }

 private:
  const Tokenizer::Token& token() { return tokens_.current(); }
  bool at_end() { return token().type == Tokenizer::TYPE_END; }
  bool at(const char* symbol) { return token().text == symbol; }
  bool ok() const { return !stopped_ && !errors_.failed; }
  void stop() { stopped_ = true; }

  void take() {
    end_line_ = token().line;
    end_column_ = token().end_column;
    tokens_.Next();
  }
  bool take(const char* symbol) {
    if (!at(symbol)) return false;
    take();
    return true;
  }

  /// A scalar, as written, strings of several pieces by their first.
  std::string scalar() {
    const bool negative = take("-");
    if (at_end() || token().type == Tokenizer::TYPE_SYMBOL) {
      stop();
      return "";
    }
    const bool string = token().type == Tokenizer::TYPE_STRING;
    const std::string text = fmt::format("{}{}", negative ? "-" : "", token().text);
    take();
    while (string && token().type == Tokenizer::TYPE_STRING) take();
    return text;
  }

  void message(const Descriptor* type, const std::string& path, int depth) {
    const char* closing = at("<") ? ">" : "}";
    take();
    while (ok() && !at_end() && !at(closing)) field(type, path, depth);
    if (!take(closing)) stop();
  }

  std::string message_or_scalar(const Descriptor* type, const std::string& path, int depth) {
    if (!at("{") && !at("<")) return scalar();
    message(type, path, depth);
    return "";
  }

  /// The value behind a name; "" for messages and lists.
  std::string value(const Descriptor* type, const std::string& path, int depth) {
    if (!take("[")) return message_or_scalar(type, path, depth);
    while (ok() && !at_end() && !at("]")) {
      message_or_scalar(type, path, depth);
      take(",");
    }
    if (!take("]")) stop();
    return "";
  }

  void field(const Descriptor* type, const std::string& path, int depth) {
    if (token().type != Tokenizer::TYPE_IDENTIFIER || depth > kMaxNesting) return stop();
    const std::string name = token().text;
    const int line = token().line, column = token().column;
    take();
    take(":");
    const FieldDescriptor* known = type ? type->FindFieldByName(name) : nullptr;
    // Layers are told by their lines.
    const bool outer = path.empty() && (name == "layer" || name == "layers");
    const std::string below = outer ? path : path.empty() ? name : path + "." + name;
    const Descriptor* inner = known ? known->message_type() : nullptr;
    const std::string text = value(inner, outer ? "" : below, depth + 1);
    if (!ok()) return;
    const std::size_t end = end_offset();
    if (!take(";")) take(",");
    if (type) treat(*type, known, {name, text, below, line, column, end});
  }

  struct Written {
    const std::string& name;
    const std::string& text;  ///< of the value
    const std::string& path;
    int line, column;
    std::size_t end;  ///< of the value; the scan is behind what separates it from the next
  };

  void treat(const Descriptor& type, const FieldDescriptor* known, const Written& written) {
    const auto& [name, text, path, line, column, end] = written;
    std::string message = plain_name(type), field = name;
    if (known && known->enum_type() && !known->enum_type()->FindValueByName(text)) {
      message = plain_name(*known->enum_type());
      field = text;
    } else if (known && known->number() < kFirstOwnField) {
      return;
    }
    const std::vector<const ForkField*> rows = fork_rows(message, field);
    if (rows.empty()) return;
    int forks = 0;
    for (const ForkField* row : rows) forks |= row->fork;
    const ForkField& row = *rows.front();
    // A field that Crema has too says nothing of where the file is from, nor does a solver's.
    const bool telling = rows.size() == 1 && row.treatment != Treatment::kConverted &&
                         &type != caffe::SolverParameter::descriptor();
    if (telling) use_->told |= forks;
    const std::size_t begin = map_.offset(line, column);
    const std::string place = fmt::format("line {}", line + 1);
    switch (row.treatment) {
      case Treatment::kConverted:
        return;
      case Treatment::kRenamed:
        edits_.push_back({begin, begin + name.size(), std::string(row.note)});
        use_->notes.push_back(fmt::format("{} ({}) became {}", path, place, row.note));
        return;
      case Treatment::kReplaced:
        if (is_neutral(row, text)) break;
        edits_.push_back({begin, end, std::string(row.note)});
        use_->notes.push_back(fmt::format("{}: {} ({}) became {}", path, text, place, row.note));
        return;
      case Treatment::kRefused:
        if (!is_neutral(row, text)) return;
        break;
      case Treatment::kIgnored:
        break;
    }
    edits_.push_back({begin, end_offset(), ""});
    if (row.treatment == Treatment::kIgnored) use_->ignored.push_back({path, place, forks});
  }

  std::size_t end_offset() const { return map_.offset(end_line_, end_column_); }

  const TextMap& map_;
  ForkUse* use_;
  Silent errors_;
  google::protobuf::io::ArrayInputStream input_;
  Tokenizer tokens_;
  std::vector<Edit> edits_;
  int end_line_ = 0, end_column_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::string treat_fork_fields(const TextMap& map, const Descriptor& root, ForkUse* use) {
  std::string text(map.text());
  const std::vector<Edit> edits = ForkScan(map, use).run(root);
  // From the end on, so that the offsets of those before stay good.
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
    if (!edit->text.empty()) {
      text.replace(edit->begin, edit->end - edit->begin, edit->text);
      continue;
    }
    for (std::size_t i = edit->begin; i < edit->end; ++i) {
      if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
    }
  }
  return text;
}

}  // namespace crema
