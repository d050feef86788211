#include "data/views.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

constexpr std::int64_t kMaxGrid = 100, kMaxScale = 1 << 14;

/// A whole number from 1 to `most`, 0 for anything else.
std::int64_t number(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && value >= 1 && value <= most ? value : 0;
}

/// Where part `index` of `count` lies when they are spread over `room` places.
std::int64_t spread(std::int64_t index, std::int64_t count, std::int64_t room) {
  return count == 1 ? room / 2 : index * room / (count - 1);
}

}  // namespace

std::int64_t Views::part_count() const {
  switch (parts) {
    case Parts::kCentre:
      return 1;
    case Parts::kFive:
      return 5;
    case Parts::kGrid:
      return rows * columns;
  }
  return 1;
}

std::int64_t Views::count() const {
  return part_count() * (mirror ? 2 : 1) *
         std::max<std::int64_t>(1, static_cast<std::int64_t>(scales.size()));
}

std::string View::str() const {
  return fmt::format("{} at row {}, column {} of {}{}", size.str(), top, left, frame.str(),
                     mirror ? ", mirrored" : "");
}

Views parse_views(const std::string& views, const std::string& scales) {
  Views parsed;
  if (views == "5" || views == "10") {
    parsed.parts = Views::Parts::kFive;
    parsed.mirror = views == "10";
  } else if (views != "1") {
    const std::size_t x = std::min(views.find('x'), views.size());
    parsed.parts = Views::Parts::kGrid;
    parsed.rows = number(std::string_view(views).substr(0, x), kMaxGrid);
    parsed.columns =
        x == views.size() ? 0 : number(std::string_view(views).substr(x + 1), kMaxGrid);
    require(parsed.rows > 0 && parsed.columns > 0,
            "the views are 1 (the middle), 5 (corners and middle), 10 (those and mirrored) or "
            "ROWSxCOLUMNS (a grid such as 3x3, of at most {} each), not \"{}\"",
            kMaxGrid, views);
  }
  for (const std::string& scale : split(scales, ',')) {
    parsed.scales.push_back(number(scale, kMaxScale));
    require(parsed.scales.back() > 0,
            "the scales are lengths of the shorter side such as 256,288,320 (1 to {}), not \"{}\"",
            kMaxScale, scales);
  }
  return parsed;
}

PictureSize with_short_side(PictureSize size, std::int64_t length) {
  const std::int64_t shorter = std::min(size.height, size.width);
  const auto scaled = [&](std::int64_t side) {
    return (2 * side * length + shorter) / (2 * shorter);
  };
  return {scaled(size.height), scaled(size.width)};
}

std::vector<View> views_of(const Views& views, PictureSize frame, PictureSize size) {
  const std::int64_t down = frame.height - size.height, right = frame.width - size.width;
  CREMA_ASSERT(down >= 0 && right >= 0);
  std::vector<View> list;
  const auto add = [&](std::int64_t top, std::int64_t left) {
    list.push_back({frame, top, left, size, false});
  };
  if (views.parts == Views::Parts::kFive) {
    add(0, 0);
    add(0, right);
    add(down, 0);
    add(down, right);
  }
  if (views.parts == Views::Parts::kGrid) {
    for (std::int64_t row = 0; row < views.rows; ++row) {
      for (std::int64_t column = 0; column < views.columns; ++column) {
        add(spread(row, views.rows, down), spread(column, views.columns, right));
      }
    }
  } else {
    add(down / 2, right / 2);
  }
  if (views.mirror) {
    const std::size_t plain = list.size();
    for (std::size_t i = 0; i < plain; ++i) {
      list.push_back(list[i]);
      list.back().mirror = true;
    }
  }
  return list;
}

}  // namespace crema
