#include "data/window_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace crema {
namespace {

/// Words and the lines that they stand in.
class Words {
 public:
  Words(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  bool at_end() {
    while (at_ < text_.size() && is_blank(text_[at_])) line_ += text_[at_++] == '\n';
    return at_ == text_.size();
  }
  std::string_view next(const char* what) {
    require(!at_end(), "{}:{}: the file ends where {} should come", path_, line_, what);
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  template <class Number>
  Number number(const char* what) {
    const std::string_view word = next(what);
    Number value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    require(error == std::errc() && end == word.data() + word.size(), "{}:{}: {} is \"{}\"", path_,
            line_, what, word);
    return value;
  }
  std::int64_t line() const { return line_; }

 private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

/// Beyond any image, and far from where sums overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 30;

std::int64_t coordinate(Words* words, const char* what) {
  const auto value = words->number<std::int64_t>(what);
  return std::clamp(value, -kFarthest, kFarthest);
}

/// One axis of a placement.
struct Span {
  std::int64_t from = 0, source = 0;  ///< in the image
  std::int64_t before = 0, after = 0, size = 0;
};

Span place(double center, double half, std::int64_t crop, std::int64_t image) {
  const auto first = static_cast<std::int64_t>(std::round(center - half));
  const auto last = static_cast<std::int64_t>(std::round(center + half));
  const std::int64_t outside_before = std::max<std::int64_t>(0, -first);
  const std::int64_t outside_after = std::max<std::int64_t>(0, last - image + 1);
  const double scale = static_cast<double>(crop) / static_cast<double>(last - first + 1);
  const auto scaled = [&](std::int64_t n) {
    return static_cast<std::int64_t>(std::round(static_cast<double>(n) * scale));
  };
  Span span;
  span.from = first + outside_before;
  span.source = last - outside_after - span.from + 1;
  span.before = scaled(outside_before);
  span.after = scaled(outside_after);
  span.size = scaled(span.source);
  return span;
}

}  // namespace

WindowList::WindowList(const std::string& the_path) : path(the_path) {
  const std::string text = read_text_file(path);
  Words words(path, text);
  while (!words.at_end()) {
    const std::string_view mark = words.next("\"#\"");
    require(mark == "#", "{}:{}: an image begins with \"# INDEX\", not with \"{}\"", path,
            words.line(), mark);
    words.number<std::int64_t>("the image's index");
    images.emplace_back(words.next("the image's path"));
    // The image itself says how large it is.
    words.number<std::int64_t>("the number of channels");
    words.number<std::int64_t>("the image's height");
    words.number<std::int64_t>("the image's width");
    const auto count = words.number<std::int64_t>("the number of windows");
    for (std::int64_t i = 0; i < count; ++i) {
      Window window;
      window.image = static_cast<std::int64_t>(images.size()) - 1;
      window.label = words.number<int>("a window's class");
      window.line = words.line();
      window.overlap = words.number<float>("a window's overlap");
      window.x1 = coordinate(&words, "a window's x1");
      window.y1 = coordinate(&words, "a window's y1");
      window.x2 = coordinate(&words, "a window's x2");
      window.y2 = coordinate(&words, "a window's y2");
      require(window.x1 <= window.x2 && window.y1 <= window.y2,
              "{}:{}: the window from ({}, {}) to ({}, {}) is empty", path, window.line, window.x1,
              window.y1, window.x2, window.y2);
      windows.push_back(window);
    }
  }
  require(!windows.empty(), "{} holds no windows", path);
}

WindowPlacement place_window(const WindowList::Window& window, const WindowCrop& crop,
                             std::int64_t image_height, std::int64_t image_width, bool mirror) {
  const auto require_inside = [&](bool inside) {
    require(inside, "the window from ({}, {}) to ({}, {}) lies outside the image of {}x{}",
            window.x1, window.y1, window.x2, window.y2, image_height, image_width);
  };
  WindowPlacement result;
  if (crop.context == 0 && !crop.square) {
    result.x = std::max<std::int64_t>(window.x1, 0);
    result.y = std::max<std::int64_t>(window.y1, 0);
    result.source_width = std::min(window.x2, image_width - 1) - result.x + 1;
    result.source_height = std::min(window.y2, image_height - 1) - result.y + 1;
    result.width = result.height = crop.size;
    require_inside(result.source_width > 0 && result.source_height > 0);
    return result;
  }
  double half_width = static_cast<double>(window.x2 - window.x1 + 1) / 2;
  double half_height = static_cast<double>(window.y2 - window.y1 + 1) / 2;
  const double center_x = static_cast<double>(window.x1) + half_width;
  const double center_y = static_cast<double>(window.y1) + half_height;
  if (crop.square) half_width = half_height = std::max(half_width, half_height);
  const double enlarge =
      static_cast<double>(crop.size) / static_cast<double>(crop.size - 2 * crop.context);
  const Span across = place(center_x, half_width * enlarge, crop.size, image_width);
  const Span down = place(center_y, half_height * enlarge, crop.size, image_height);
  require_inside(across.source > 0 && down.source > 0);
  result.x = across.from;
  result.y = down.from;
  result.source_width = across.source;
  result.source_height = down.source;
  // Rounding may take both a pixel too far.
  result.left = std::min(mirror ? across.after : across.before, crop.size);
  result.top = std::min(down.before, crop.size);
  result.width = std::min(across.size, crop.size - result.left);
  result.height = std::min(down.size, crop.size - result.top);
  return result;
}

}  // namespace crema
