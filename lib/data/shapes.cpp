// Everything is a function of the position: a figure says whether a point lies in it, a texture how
// light it is there. Edges are smoothed by 16 points a pixel.
#include "data/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/philox.h"

namespace crema {
namespace {

constexpr double kPi = std::numbers::pi;

struct Point {
  double x = 0, y = 0;
};

Point turned(Point p, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {c * p.x + s * p.y, c * p.y - s * p.x};
}

/// The random numbers of one picture, one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t number)
      : random_(seed, stream_id("shapes")), number_(static_cast<std::uint64_t>(number)) {}

  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_.uniform(number_, next_++));
  }
  int below(int n) {
    return static_cast<int>(random_.below(number_, next_++, static_cast<std::uint32_t>(n)));
  }
  /// Of the integer points of a plane, for noise: -1 to 1, independent of the order of calls.
  double at(std::uint64_t plane, std::int64_t x, std::int64_t y) const {
    const std::uint64_t element = (plane << 40) + (static_cast<std::uint64_t>(y & 0xfffff) << 20) +
                                  static_cast<std::uint64_t>(x & 0xfffff);
    return 2.0 * static_cast<double>(random_.uniform(number_, element + (std::uint64_t{1} << 44))) -
           1.0;
  }

 private:
  RandomStream random_;
  std::uint64_t number_, next_ = 0;
};

// ---- Figures: points inside, in a circle of radius 1 ----

bool in_disc(Point p) { return std::hypot(p.x, p.y) <= 0.9; }
bool in_square(Point p) { return std::max(std::abs(p.x), std::abs(p.y)) <= 0.7; }
bool in_triangle(Point p) {
  for (int k = 0; k < 3; ++k) {
    if (turned(p, k * 2 * kPi / 3).x > 0.5) return false;
  }
  return true;
}
bool in_ring(Point p) {
  const double r = std::hypot(p.x, p.y);
  return r <= 0.95 && r >= 0.52;
}
bool in_cross(Point p) {
  const double a = std::abs(p.x), b = std::abs(p.y);
  return std::min(a, b) <= 0.27 && std::max(a, b) <= 0.95;
}
/// Five rays: in each tenth of the circle, the inner side of a straight edge.
bool in_star(Point p) {
  constexpr double kTenth = kPi / 5, kInner = 0.4;
  const double r = std::hypot(p.x, p.y);
  double angle = std::fmod(std::atan2(p.y, p.x) + 2 * kPi, 2 * kTenth);
  angle = std::min(angle, 2 * kTenth - angle);
  // From the tip at (1, 0) to the notch; what is inside lies to its left.
  const Point edge{kInner * std::cos(kTenth) - 1, kInner * std::sin(kTenth)};
  return edge.x * r * std::sin(angle) - edge.y * (r * std::cos(angle) - 1) >= 0;
}
bool in_diamond(Point p) { return std::abs(p.x) + 2 * std::abs(p.y) <= 1; }
bool in_half_disc(Point p) { return p.y >= -0.4 && std::hypot(p.x, p.y + 0.4) <= 0.9; }
bool in_bar(Point p) { return std::abs(p.x) <= 0.95 && std::abs(p.y) <= 0.25; }
bool in_stripes(Point p) {
  const double across = std::abs(std::abs(p.y) < 0.3 ? p.y : std::abs(p.y) - 0.6);
  return std::abs(p.x) <= 0.65 && across <= 0.16;
}

struct Figure {
  const char* name;
  bool (*holds)(Point);
};
constexpr Figure kFigures[] = {{"disc", in_disc},         {"square", in_square},
                               {"triangle", in_triangle}, {"ring", in_ring},
                               {"cross", in_cross},       {"star", in_star},
                               {"diamond", in_diamond},   {"half-disc", in_half_disc},
                               {"bar", in_bar},           {"stripes", in_stripes}};

// ---- Textures: -1 to 1 at each point ----

/// A wave of period 1 with steep sides.
double wave(double x) { return std::clamp(2.5 * std::sin(2 * kPi * x), -1.0, 1.0); }

class Texture {
 public:
  Texture(Draws* draws, std::uint64_t plane, int size)
      : draws_(*draws), plane_(plane), size_(size) {
    kind_ = draws->below(5);
    angle_ = draws->between(0, kPi);
    period_ = draws->between(4, 9);
    phase_ = {draws->between(0, 1), draws->between(0, 1)};
  }

  double at(Point pixel) const {
    const Point p = turned(pixel, angle_);
    const Point q{p.x / period_ + phase_.x, p.y / period_ + phase_.y};
    switch (kind_) {
      case 0:
        return wave(q.x);  // stripes
      case 1:
        return wave(q.x) * wave(q.y);  // checks
      case 2:                          // dots
        return std::clamp(8 * (0.3 - std::hypot(q.x - std::round(q.x), q.y - std::round(q.y))),
                          -1.0, 1.0);
      case 3:
        return blots({2 * q.x, 2 * q.y});
      default:
        return std::clamp(p.x / size_, -1.0, 1.0);  // a gradient
    }
  }

 private:
  /// Between random values at whole numbers.
  double blots(Point q) const {
    const auto x = static_cast<std::int64_t>(std::floor(q.x));
    const auto y = static_cast<std::int64_t>(std::floor(q.y));
    const double a = q.x - static_cast<double>(x), b = q.y - static_cast<double>(y);
    const double upper = (1 - a) * draws_.at(plane_, x, y) + a * draws_.at(plane_, x + 1, y);
    const double lower =
        (1 - a) * draws_.at(plane_, x, y + 1) + a * draws_.at(plane_, x + 1, y + 1);
    return std::clamp(1.5 * ((1 - b) * upper + b * lower), -1.0, 1.0);
  }

  const Draws& draws_;
  std::uint64_t plane_;
  double size_;
  int kind_ = 0;
  double angle_ = 0, period_ = 1;
  Point phase_;
};

// ---- Colours ----

using Color = std::array<double, 3>;  // blue, green, red

double brightness(const Color& c) { return 0.114 * c[0] + 0.587 * c[1] + 0.299 * c[2]; }

constexpr double kContrast = 80, kTextureContrast = 24, kDarkest = 30, kLightest = 225;

Color random_color(Draws* draws) {
  return {draws->between(kDarkest, kLightest), draws->between(kDarkest, kLightest),
          draws->between(kDarkest, kLightest)};
}

/// One that stands out from another, if need be a grey.
Color contrasting_color(Draws* draws, const Color& other) {
  for (int i = 0; i < 16; ++i) {
    const Color color = random_color(draws);
    if (std::abs(brightness(color) - brightness(other)) >= kContrast) return color;
  }
  const double gray = brightness(other) > (kDarkest + kLightest) / 2 ? kDarkest : kLightest;
  return {gray, gray, gray};
}

/// A base colour and a texture that makes it lighter and darker.
struct Paint {
  Color base;
  Texture texture;

  Color at(Point pixel) const {
    const double change = kTextureContrast * texture.at(pixel);
    return {base[0] + change, base[1] + change, base[2] + change};
  }
};

// ---- Pictures ----

/// A figure at its place, or a stroke.
struct Placed {
  bool (*holds)(Point);
  Point centre;
  double radius, angle;

  /// What of a pixel it covers, 0 to 1.
  double coverage(int x, int y) const {
    if (std::hypot(x + 0.5 - centre.x, y + 0.5 - centre.y) > radius + 1) return 0;
    int inside = 0;
    for (int k = 0; k < 16; ++k) {
      const int column = k % 4, row = k / 4;
      const Point p{x + (column + 0.5) / 4 - centre.x, y + (row + 0.5) / 4 - centre.y};
      const Point turned_back = turned(p, angle);
      inside += holds({turned_back.x / radius, turned_back.y / radius}) ? 1 : 0;
    }
    return inside / 16.0;
  }
};

class Canvas {
 public:
  explicit Canvas(int size) : size_(size), pixels_(static_cast<std::size_t>(size) * size) {}

  void fill(const Paint& paint) {
    for (int y = 0; y < size_; ++y) {
      for (int x = 0; x < size_; ++x) at(x, y) = paint.at({x + 0.5, y + 0.5});
    }
  }

  /// Returns the box around pixels that are covered by half.
  PixelBox draw(const Placed& figure, const Paint& paint) {
    PixelBox box{size_, size_, -1, -1};
    for (int y = 0; y < size_; ++y) {
      for (int x = 0; x < size_; ++x) {
        const double share = figure.coverage(x, y);
        if (share == 0) continue;
        const Color color = paint.at({x + 0.5, y + 0.5});
        for (std::size_t c = 0; c < 3; ++c) {
          at(x, y)[c] += share * (color[c] - at(x, y)[c]);
        }
        if (share < 0.5) continue;
        box = {std::min(box.xmin, x), std::min(box.ymin, y), std::max(box.xmax, x),
               std::max(box.ymax, y)};
      }
    }
    return box;
  }

  Image image() const {
    Image image{3, size_, size_, {}};
    for (std::size_t c = 0; c < 3; ++c) {
      for (const Color& pixel : pixels_) {
        image.bytes.push_back(
            static_cast<std::uint8_t>(std::lround(std::clamp(pixel[c], 0.0, 255.0))));
      }
    }
    return image;
  }

 private:
  Color& at(int x, int y) { return pixels_[static_cast<std::size_t>(y) * size_ + x]; }

  int size_;
  std::vector<Color> pixels_;
};

bool in_stroke(Point p) { return std::abs(p.x) <= 0.95 && std::abs(p.y) <= 0.3; }

/// Strokes that leave some pixels free around the box; where there is no room, fewer.
void draw_distractors(const ShapesOptions& options, const PixelBox& box, const Color& ground,
                      Draws* draws, Canvas* canvas) {
  constexpr int kTries = 10;
  for (int i = 0; i < options.distractors; ++i) {
    const double radius = draws->between(0.05, 0.08) * options.size;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const Point centre{draws->between(radius, options.size - radius),
                         draws->between(radius, options.size - radius)};
      const double room = radius + 2;
      if (centre.x > box.xmin - room && centre.x < box.xmax + 1 + room &&
          centre.y > box.ymin - room && centre.y < box.ymax + 1 + room) {
        continue;
      }
      const Placed stroke{in_stroke, centre, radius, draws->between(0, kPi)};
      const Color color = contrasting_color(draws, ground);
      canvas->draw(stroke,
                   {color, Texture(draws, 2 + static_cast<std::uint64_t>(i), options.size)});
      break;
    }
  }
}

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Figure& figure : kFigures) list.emplace_back(figure.name);
    return list;
  }();
  return names;
}

ShapesPicture draw_shapes(const ShapesOptions& options, std::int64_t number) {
  const auto all = static_cast<int>(std::size(kFigures));
  require(options.classes >= 1 && options.classes <= all, "there are 1 to {} classes, not {}", all,
          options.classes);
  require(options.size >= ShapesOptions::kSmallest && options.size <= 4096,
          "the size of the pictures is {}; it can be {} to 4096", options.size,
          ShapesOptions::kSmallest);
  require(options.distractors >= 0 && options.distractors <= 100,
          "the number of distractors is {}; it can be 0 to 100", options.distractors);
  Draws draws(options.seed, number);
  ShapesPicture picture;
  picture.label = draws.below(options.classes);
  const double radius = draws.between(0.18, 0.36) * options.size;
  const double room = radius + 1;
  const Placed figure{
      kFigures[picture.label].holds,
      {draws.between(room, options.size - room), draws.between(room, options.size - room)},
      radius,
      draws.between(0, 2 * kPi)};
  const Color ground = random_color(&draws);
  const Color color = contrasting_color(&draws, ground);
  Canvas canvas(options.size);
  canvas.fill({ground, Texture(&draws, 0, options.size)});
  picture.box = canvas.draw(figure, {color, Texture(&draws, 1, options.size)});
  draw_distractors(options, picture.box, ground, &draws, &canvas);
  picture.image = canvas.image();
  return picture;
}

}  // namespace crema
