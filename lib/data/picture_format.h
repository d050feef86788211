// Formats of picture files, told by their first bytes.
#pragma once

#include <string_view>

namespace crema {

struct PictureFormat {
  std::string_view name;       ///< "JPEG"; "" for bytes of no known format
  std::string_view extension;  ///< "jpg"
};

PictureFormat picture_format(std::string_view file);

}  // namespace crema
