// JPEG, the format of most pictures that nets are trained on, by TurboJPEG: it is small and quick
// to load, where OpenCV's codecs bring 140 shared objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/image.h"

namespace crema {

/// Decodes a JPEG file. The pixels are those that OpenCV gives, to the bit: both have the library
/// libjpeg-turbo inside. Returns what is wrong with the file, "" for nothing; or no text at all
/// where OpenCV has to do it: four inks instead of colours, and pictures that EXIF says to turn
/// (which is obeyed where a number of channels is forced, as cv::imdecode does).
///
/// A file that ends too early or whose code is broken is an error: libjpeg would fill in grey, and
/// nobody would see it. Stray bytes between its parts are none.
std::optional<std::string> decode_jpeg(std::string_view file, Decode as, Image* image);

}  // namespace crema
