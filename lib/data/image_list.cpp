#include "data/image_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "data/image_folder.h"

namespace crema {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view without_trailing_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kBlanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// What stands behind the last blank of a text without blanks at its end; all of it if there is
/// none.
std::string_view last_word(std::string_view text) {
  const std::size_t blank = text.find_last_of(kBlanks);
  return blank == std::string_view::npos ? text : text.substr(blank + 1);
}

/// Also infinite and NaN, which the caller refuses.
std::optional<double> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc::result_out_of_range && end == word.data() + word.size()) {
    return std::numeric_limits<double>::infinity();
  }
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::string form_of_line(int label_count) {
  std::string form = "a line is NAME LABEL";
  if (label_count > 1) form += fmt::format(" …, {} labels (label_count)", label_count);
  return form;
}

}  // namespace

ImageList::ImageList(const std::string& path, int label_count)
    : path_(path), label_count_(label_count) {
  require(label_count >= 1, "label_count is {}; it must be at least 1", label_count);
  if (is_folder_path(path)) {
    require(label_count == 1,
            "{} is a folder of class sub-folders, which give one label; label_count is {}", path,
            label_count);
    read_folder();
  } else {
    read_text();
  }
}

void ImageList::read_text() {
  text_ = read_text_file(path_);
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view line =
        without_trailing_blanks(std::string_view(text_).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    with_context([&] { return fmt::format("{}:{}", path_, number); }, [&] { add_line(line); });
    entries_.back().line = number;
  }
  require(!entries_.empty(), "{} lists no images", path_);
}

void ImageList::add_line(std::string_view line) {
  const std::size_t first = labels_.size();
  labels_.resize(first + static_cast<std::size_t>(label_count_));
  std::string_view rest = line;
  for (int k = label_count_ - 1; k >= 0; --k) {
    const std::string_view word = last_word(rest);
    const std::string_view before =
        without_trailing_blanks(rest.substr(0, rest.size() - word.size()));
    const std::optional<double> number = number_of(word);
    if (before.empty() || !number) {
      const int found = label_count_ - 1 - k;
      const bool whole_line = word.size() == rest.size();  // not even a blank before it
      require(!before.empty() || (number && !whole_line && k == 0), "\"{}\" has {}; {}", line,
              found == 0   ? "no label"
              : found == 1 ? "only one label"
                           : fmt::format("only {} labels", found),
              form_of_line(label_count_));
      require(!before.empty(), "\"{}\" has no name; {}", line, form_of_line(label_count_));
      fail("the label \"{}\" of \"{}\" is not a number{}", word, before,
           label_count_ > 1 ? "; " + form_of_line(label_count_) : "");
    }
    const auto label = static_cast<float>(*number);
    require(std::isfinite(label), "the label \"{}\" of \"{}\" is not a finite number", word,
            before);
    labels_[first + static_cast<std::size_t>(k)] = label;
    rest = before;
  }
  require(rest.size() <= std::numeric_limits<std::uint32_t>::max(), "the name is too long");
  Entry entry;
  entry.begin = static_cast<std::size_t>(line.data() - text_.data());
  entry.name_size = static_cast<std::uint32_t>(rest.size());
  entries_.push_back(entry);
}

void ImageList::read_folder() {
  folder_ = true;
  ImageFolder found = find_images(path_);
  classes_ = std::move(found.classes);
  for (const ImageFolder::File& file : found.files) {
    Entry entry;
    entry.begin = text_.size();
    entry.name_size = static_cast<std::uint32_t>(file.name.size());
    entry.line = static_cast<std::uint32_t>(entries_.size() + 1);
    entries_.push_back(entry);
    text_ += file.name;
    labels_.push_back(static_cast<float>(file.label));
  }
}

std::string ImageList::name(std::int64_t i) const {
  return text_.substr(entry(i).begin, entry(i).name_size);
}

std::string ImageList::file(std::int64_t i, const std::string& root) const {
  if (!folder_) return root + name(i);
  return path_ + (path_.ends_with('/') ? "" : "/") + name(i);
}

std::span<const float> ImageList::labels(std::int64_t i) const {
  const auto count = static_cast<std::size_t>(label_count_);
  return std::span(labels_).subspan(static_cast<std::size_t>(i) * count, count);
}

std::int32_t ImageList::whole_label(std::int64_t i, int k) const {
  if (folder_) return static_cast<std::int32_t>(labels(i)[0]);
  // From the text: a float is exact to 2^24 only.
  const std::size_t begin = entry(i).begin + entry(i).name_size;
  std::string_view rest = std::string_view(text_).substr(
      begin, std::min(text_.find('\n', begin), text_.size()) - begin);
  std::string_view word;
  for (int place = 0; place <= k; ++place) {
    rest.remove_prefix(rest.find_first_not_of(kBlanks));
    word = rest.substr(0, rest.find_first_of(kBlanks));
    rest.remove_prefix(word.size());
  }
  const double number = number_of(word).value();
  require(number == std::trunc(number) && number >= std::numeric_limits<std::int32_t>::min() &&
              number <= std::numeric_limits<std::int32_t>::max(),
          "the label \"{}\" of \"{}\" is not a whole number of 32 bits", word, name(i));
  return static_cast<std::int32_t>(number);
}

std::string ImageList::where(std::int64_t i) const {
  if (folder_) return fmt::format("{}: image {}", path_, i + 1);
  return fmt::format("{}:{}", path_, entry(i).line);
}

std::string read_listed_file(const std::string& path) {
  if (is_missing(path)) {
    const std::string_view name = without_trailing_blanks(path);
    const std::string_view word = last_word(name);
    require(word.size() == name.size() || !number_of(word),
            "cannot open {}: No such file or directory; if \"{}\" is a label, label_count has to "
            "say how many a line has",
            path, word);
  }
  return read_file(path);
}

}  // namespace crema
