#include "data/picture_format.h"

namespace crema {

PictureFormat picture_format(std::string_view file) {
  using namespace std::string_view_literals;
  if (file.starts_with("\xff\xd8\xff"sv)) return {"JPEG", "jpg"};
  if (file.starts_with("\x89PNG\r\n\x1a\n"sv)) return {"PNG", "png"};
  if (file.starts_with("RIFF"sv) && file.substr(0, 12).ends_with("WEBP"sv)) return {"WebP", "webp"};
  if (file.starts_with("BM"sv)) return {"BMP", "bmp"};
  if (file.starts_with("GIF8"sv)) return {"GIF", "gif"};
  if (file.starts_with("II*\0"sv) || file.starts_with("MM\0*"sv)) return {"TIFF", "tif"};
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6') {
    const bool gray = file[1] == '2' || file[1] == '5', color = file[1] == '3' || file[1] == '6';
    return {"PNM", color ? "ppm" : gray ? "pgm" : "pbm"};
  }
  return {};
}

}  // namespace crema
