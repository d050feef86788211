// Window files: images and the windows in them, as WindowData reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crema {

/// For each image `# INDEX`, its path, channels, height, width and number of windows, then as many
/// lines `CLASS OVERLAP X1 Y1 X2 Y2` (overlap with an object, 0 to 1; corners inclusive). All are
/// separated by white space. Errors name file and line.
struct WindowList {
  struct Window {
    std::int64_t image = 0;  ///< index into images
    int label = 0;
    float overlap = 0;
    std::int64_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    std::int64_t line = 0;  ///< from 1
  };

  explicit WindowList(const std::string& path);

  std::string path;
  std::vector<std::string> images;
  std::vector<Window> windows;
};

/// Where a window comes from in an image and where it goes in the crop.
struct WindowPlacement {
  std::int64_t x = 0, y = 0, source_width = 0, source_height = 0;  ///< in the image
  std::int64_t left = 0, top = 0, width = 0, height = 0;           ///< in the crop
};

/// How windows are cut out.
struct WindowCrop {
  std::int64_t size = 0;     ///< of the square that comes out
  std::int64_t context = 0;  ///< pixels of it that are surroundings, on each side
  bool square = false;       ///< the window is first enlarged to its larger side
};

/// A window with context or made square is enlarged about its centre, by size / (size - 2 context);
/// what of it lies outside the image leaves the same share of the crop empty. A plain window fills
/// the crop. `mirror`: for the flipped image. Fails when no part of the window lies in the image.
WindowPlacement place_window(const WindowList::Window& window, const WindowCrop& crop,
                             std::int64_t image_height, std::int64_t image_width, bool mirror);

}  // namespace crema
