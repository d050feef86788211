#include "proto/text_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace crema {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

/// The words, strings and braces of a text, one after the other.
class Scanner {
 public:
  enum Kind { kWord, kString, kOpen, kClose, kOther, kEnd };

  Scanner(std::string_view text, std::size_t begin) : text_(text), next_(begin) {}

  Kind advance() {
    skip_blanks();
    begin_ = next_;
    if (next_ >= text_.size()) return kEnd;
    const char c = text_[next_++];
    if (c == '{' || c == '<') return kOpen;
    if (c == '}' || c == '>') return kClose;
    if (c == '"' || c == '\'') {
      while (next_ < text_.size() && text_[next_] != c && text_[next_] != '\n') {
        next_ += text_[next_] == '\\' ? 2 : 1;
      }
      next_ = std::min(next_ + 1, text_.size());
      return kString;
    }
    if (!is_word(c)) return kOther;
    while (next_ < text_.size() && is_word(text_[next_])) ++next_;
    return kWord;
  }

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return next_; }
  std::string_view token() const { return text_.substr(begin_, next_ - begin_); }

 private:
  void skip_blanks() {
    while (next_ < text_.size()) {
      if (text_[next_] == '#') {
        next_ = std::min(text_.find('\n', next_), text_.size());
      } else if (is_space(text_[next_])) {
        ++next_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t begin_ = 0, next_;
};

/// Without its quotes.
std::string_view unquoted(std::string_view token) {
  if (token.size() < 2) return {};
  return token.substr(1, token.size() - 2);
}

}  // namespace

TextMap::TextMap(std::string_view text) : text_(text), lines_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

std::size_t TextMap::offset(int line, int column) const {
  if (line < 0) return 0;
  if (line >= static_cast<int>(lines_.size())) return text_.size();
  std::size_t at = lines_[static_cast<std::size_t>(line)];
  for (int reached = 0; reached < column && at < text_.size() && text_[at] != '\n'; ++at) {
    reached += text_[at] == '\t' ? 8 - reached % 8 : 1;
  }
  return at;
}

TextPlace TextMap::place(std::size_t offset) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const auto line = std::distance(lines_.begin(), next);
  return {static_cast<int>(line), static_cast<int>(offset - *std::prev(next)) + 1};
}

std::size_t TextMap::word_before(std::size_t offset, std::string_view word) const {
  for (std::size_t at = std::min(offset, text_.size()); !word.empty();) {
    at = text_.substr(0, at).rfind(word);
    if (at == std::string_view::npos) break;
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text_[at - 1])) && (end == text_.size() || !is_word(text_[end]))) {
      return at;
    }
  }
  return offset;
}

std::vector<TextBlock> TextMap::blocks_around(std::size_t offset) const {
  std::vector<TextBlock> blocks;
  TextBlock last;
  Scanner scanner(text_, 0);
  for (auto kind = scanner.advance(); kind != Scanner::kEnd && scanner.begin() < offset;
       kind = scanner.advance()) {
    if (kind == Scanner::kWord) {
      last = {std::string(scanner.token()), scanner.begin(), 0};
    } else if (kind == Scanner::kOpen) {
      last.body = scanner.end();
      blocks.push_back(last);
    } else if (kind == Scanner::kClose && !blocks.empty()) {
      blocks.pop_back();
    }
  }
  return blocks;
}

std::string TextMap::layer_label(const std::vector<TextBlock>& blocks) const {
  const auto layer = std::find_if(blocks.begin(), blocks.end(), [](const TextBlock& block) {
    return block.name == "layer" || block.name == "layers";
  });
  if (layer == blocks.end()) return "";
  // Name and type stand directly in the block, or (V0) in a `layer` within it.
  std::vector<std::string> inside;
  std::string word, name, type;
  Scanner scanner(text_, layer->body);
  for (auto kind = scanner.advance(); kind != Scanner::kEnd; kind = scanner.advance()) {
    const bool ours = inside.empty() || (inside.size() == 1 && inside[0] == "layer");
    if (kind == Scanner::kOpen) {
      inside.push_back(word);
    } else if (kind == Scanner::kClose) {
      if (inside.empty()) break;
      inside.pop_back();
    } else if (kind == Scanner::kString && ours) {
      if (word == "name" && name.empty()) name = unquoted(scanner.token());
      if (word == "type" && type.empty()) type = unquoted(scanner.token());
    } else if (kind == Scanner::kWord) {
      if (word == "type" && ours && type.empty()) type = scanner.token();
      // A second layer where a brace is missing is not this layer.
      if (scanner.token() == layer->name && inside.empty() && layer->name == "layers") break;
      word = scanner.token();
    }
  }
  if (name.empty()) return "";
  return type.empty() ? fmt::format("layer \"{}\"", name)
                      : fmt::format("layer \"{}\" ({})", name, type);
}

}  // namespace crema
