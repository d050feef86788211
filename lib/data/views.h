// Views: several parts of one picture, whose scores a test averages, in place of the one that
// transform_param takes.
//
// Their order: scale by scale; within a scale first all parts plain, then the same parts mirrored;
// parts in the order that is said of each kind. So the ten views of crop 6 in 8 x 8 begin with
// (0,0), (0,2), (2,0), (2,2), (1,1), plain, and end with the same five mirrored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"

namespace crema {

struct Views {
  enum class Parts {
    kCentre,  ///< one: the middle, as in the TEST phase, or all where nothing is cut out
    kFive,    ///< the corners (top left, top right, bottom left, bottom right), then the middle
    kGrid,    ///< `rows` by `columns` spread evenly from border to border, row by row
  };
  Parts parts = Parts::kCentre;
  std::int64_t rows = 1, columns = 1;
  bool mirror = false;  ///< each part a second time, left and right exchanged
  /// For each of these the picture is resized first (in proportion, after transform_param's own
  /// resizing) so that its shorter side has that length; none: it stays as it is.
  std::vector<std::int64_t> scales;

  /// Of one scale, without mirrored ones.
  std::int64_t part_count() const;
  std::int64_t count() const;
};

/// One of the views of a picture.
struct View {
  PictureSize frame;  ///< of the whole picture after resizing
  std::int64_t top = 0, left = 0;
  PictureSize size;  ///< of the part
  bool mirror = false;

  /// "227x227 at row 0, column 29 of 256x341, mirrored"
  std::string str() const;
};

/// `views`: "1" (the middle), "5" (corners and middle), "10" (those and mirrored) or "ROWSxCOLUMNS"
/// (a grid). `scales`: "" or lengths such as "256,288,320". User errors say what is wrong.
Views parse_views(const std::string& views, const std::string& scales);

/// `size` with its shorter side made `length`, the other in proportion and rounded.
PictureSize with_short_side(PictureSize size, std::int64_t length);

/// The views of one scale: parts of `size` within `frame`, which holds at least that.
std::vector<View> views_of(const Views& views, PictureSize frame, PictureSize size);

}  // namespace crema
