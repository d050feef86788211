// Pictures of textured figures on textured ground, of which everything is known: what they show and
// where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"

namespace crema {

/// What the figures are called, in the order of their labels: disc, square, triangle, ring, cross,
/// star, diamond (twice as long as wide), half-disc, bar (a narrow rectangle), stripes (three
/// bars). No two look alike when they are turned or mirrored.
const std::vector<std::string>& figure_names();

struct ShapesOptions {
  int size = 64;     ///< height and width of the pictures, at least kSmallest
  int classes = 10;  ///< the first so many figures
  std::uint64_t seed = 0;
  int distractors = 0;  ///< short strokes beside the figure, up to so many

  static constexpr int kSmallest = 24;
};

/// Pixels from the first to the last, both counted.
struct PixelBox {
  int xmin = 0, ymin = 0, xmax = 0, ymax = 0;
  bool operator==(const PixelBox&) const = default;
};

struct ShapesPicture {
  Image image;  ///< 3 x size x size
  int label = 0;
  PixelBox box;  ///< around the pixels of which the figure covers half or more
};

/// Picture `number` (from 0) of a seed: a figure of 36 to 72 percent of the picture's size across,
/// at a random place and angle, wholly inside. Figure and ground each have a texture (stripes,
/// checks, dots, blots or a gradient) of one base colour; the brightness of the two differs by 80
/// levels or more, that of a texture by at most 24 from its base. Depends on the options and the
/// number only.
ShapesPicture draw_shapes(const ShapesOptions& options, std::int64_t number);

}  // namespace crema
