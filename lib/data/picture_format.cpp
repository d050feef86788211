#include "data/picture_format.h"

#include "data/image.h"

namespace crema {

PictureFormat picture_format(std::string_view file) {
  constexpr struct {
    std::string_view kind;
    PictureFormat format;
  } kFormats[] = {
      {"a JPEG image", {"JPEG", "jpg"}},  {"a PNG image", {"PNG", "png"}},
      {"a WebP image", {"WebP", "webp"}}, {"a BMP image", {"BMP", "bmp"}},
      {"a GIF image", {"GIF", "gif"}},    {"a TIFF image", {"TIFF", "tif"}},
  };
  const std::string_view kind = image_kind(file);
  for (const auto& known : kFormats) {
    if (known.kind == kind) return known.format;
  }
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6') {
    const bool gray = file[1] == '2' || file[1] == '5', color = file[1] == '3' || file[1] == '6';
    return {"PNM", color ? "ppm" : gray ? "pgm" : "pbm"};
  }
  return {};
}

}  // namespace crema
