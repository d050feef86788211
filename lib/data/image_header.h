// What the beginning of a picture file says of the picture, without decoding anything: files that
// claim billions of pixels are to be refused before memory is asked for, and photographs that lie
// on their side are to be known as such.
#pragma once

#include <optional>
#include <string_view>

#include "data/image.h"

namespace crema {

/// The size in the header of a PNG, BMP, GIF or TIFF file; nothing when it is damaged or of another
/// kind. (Of JPEG files TurboJPEG tells the size; WebP has no room for large ones.)
std::optional<PictureSize> header_size(std::string_view file);

/// Whether a JPEG file has an EXIF record by which viewers turn or flip the picture, or one that
/// cannot be made out.
bool is_turned_by_exif(std::string_view jpeg);

}  // namespace crema
