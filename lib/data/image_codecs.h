// What the library of picture codecs (lib/codecs) offers, and how to get hold of it.
//
// It is opened when the first picture that is no JPEG is decoded, or one is resized or encoded,
// since OpenCV's codecs bring 140 shared objects and 120 ms to every process that links them, and
// most runs need none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/image.h"

namespace crema {

/// One plane of bytes within a larger one.
struct Plane {
  std::int64_t height, width, stride;
};

/// Functions return "" or what went wrong; they throw nothing, and may be called from any thread.
struct ImageCodecs {
  std::string (*decode)(std::string_view file, Decode as, Image* image);
  std::string (*encode)(const Image& image, const std::string& extension, std::string* file);
  /// Bilinear, see resize_image().
  std::string (*resize)(const std::uint8_t* from, const Plane& from_plane, std::uint8_t* to,
                        const Plane& to_plane);
};

/// Opens the library if that has not been done. It lies in `../lib` of the program's folder (so in
/// the build tree, so when installed); failing that, where the system's loader looks.
const ImageCodecs& image_codecs();

}  // namespace crema

/// The only symbol that is looked up in the library.
extern "C" const crema::ImageCodecs* crema_image_codecs();
