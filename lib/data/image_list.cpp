#include "data/image_list.h"

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace crema {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view without_trailing_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kBlanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

ImageList::Entry parse(std::string_view line) {
  const std::size_t blank = line.find_last_of(kBlanks);
  require(blank != std::string_view::npos, "\"{}\" has no label; a line is NAME LABEL", line);
  const std::string_view name = without_trailing_blanks(line.substr(0, blank));
  std::string_view number = line.substr(blank + 1);
  require(!name.empty(), "\"{}\" has no name; a line is NAME LABEL", line);
  if (number.starts_with('+')) number.remove_prefix(1);
  ImageList::Entry entry;
  entry.name = name;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), entry.label);
  require(error == std::errc() && end == number.data() + number.size(),
          "the label \"{}\" of \"{}\" is not a whole number", line.substr(blank + 1), name);
  return entry;
}

}  // namespace

ImageList::ImageList(const std::string& path) : path_(path) {
  const std::string text = read_text_file(path);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line =
        without_trailing_blanks(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    with_context([&] { return fmt::format("{}:{}", path, number); },
                 [&] { entries_.push_back(parse(line)); });
    entries_.back().line = number;
  }
  require(!entries_.empty(), "{} lists no images", path);
}

std::string ImageList::where(std::int64_t i) const {
  return fmt::format("{}:{}", path_, (*this)[i].line);
}

}  // namespace crema
