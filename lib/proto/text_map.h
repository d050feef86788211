// Lines, columns and nesting of a prototxt, worked out from the bare text, so that an error can say
// where it is even though parsing stopped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crema {

/// Both from 1; the column counts bytes.
struct TextPlace {
  int line = 1;
  int column = 1;
};

/// An open `name {`.
struct TextBlock {
  std::string name;
  std::size_t offset = 0;  ///< of the name
  std::size_t body = 0;    ///< behind the brace
};

class TextMap {
 public:
  /// Keeps a view of `text`.
  explicit TextMap(std::string_view text);

  /// Where protobuf's tokenizer means: it counts from 0 and takes a tab as up to eight columns.
  std::size_t offset(int line, int column) const;
  TextPlace place(std::size_t offset) const;
  /// Of the last whole word `word` before `offset`, or `offset` itself when there is none.
  std::size_t word_before(std::size_t offset, std::string_view word) const;

  /// The blocks around an offset, outermost first.
  std::vector<TextBlock> blocks_around(std::size_t offset) const;

  /// `layer "conv1" (Convolution)` for the layer block among `blocks`, as far as it says; else "".
  std::string layer_label(const std::vector<TextBlock>& blocks) const;

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  ///< offsets of line starts
};

}  // namespace crema
