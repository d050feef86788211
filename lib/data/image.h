// Pictures in memory before transformation, and picture files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace crema {

/// Pixels in rows and columns.
struct PictureSize {
  std::int64_t height = 0, width = 0;

  std::int64_t count() const { return height * width; }
  std::string str() const;  ///< "480x640"
  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// A picture of more pixels is refused before any memory is asked for: broken headers claim them.
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

/// `it is 65500x65500: too large, at most 268435456 pixels can be read`, or "" for sizes that are
/// not.
std::string too_large(PictureSize size);

/// Planes in C, H, W order, either bytes (unsigned) or floats; owned by somebody else.
struct ImageView {
  std::int64_t channels = 0, height = 0, width = 0;
  const std::uint8_t* bytes = nullptr;
  const float* floats = nullptr;  ///< used when `bytes` is null

  Shape shape() const { return {channels, height, width}; }
  PictureSize size() const { return {height, width}; }
};

/// Bytes in C, H, W order. Colours are blue, green, red, as Caffe has them (and alpha, if any).
struct Image {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> bytes;

  Shape shape() const { return {channels, height, width}; }
  ImageView view() const { return {channels, height, width, bytes.data(), nullptr}; }
};

/// How many channels a decoded picture gets.
enum class Decode {
  kAsIs,   ///< as many as the file has: 1, 3, or 4 with alpha; 16-bit files are refused
  kColor,  ///< 3; a grey picture gets three equal ones
  kGray,   ///< 1: 0.299 R + 0.587 G + 0.114 B, rounded
};

/// Decodes the bytes of a picture file (JPEG, PNG, BMP, WebP, TIFF, …) into `image`, whose memory
/// is reused. Where a number of channels is forced, alpha is dropped (the colours are not blended
/// with anything), of 16 bits the upper 8 are kept, and photographs that EXIF says to turn are
/// turned; with kAsIs they stay as they are stored. All that is OpenCV's, and so Caffe's. Errors
/// say what is wrong with the bytes; the caller adds whose they are.
void decode_image(std::string_view file, Decode as, Image* image);

/// Reads and decodes a file; errors begin with its path.
void read_image(const std::string& path, Decode as, Image* image);

/// A picture of the new size: bilinear, with the centres of the corner pixels aligned to the
/// borders (source coordinate (i + 0.5) * in / out - 0.5, clamped), rounded to bytes. Nothing is
/// smoothed when it shrinks. Of bytes only.
void resize_image(const ImageView& from, std::int64_t height, std::int64_t width, Image* to);
inline void resize_image(const Image& from, std::int64_t height, std::int64_t width, Image* to) {
  resize_image(from.view(), height, width, to);
}

/// Makes a file of the kind that belongs to an extension ("png", "jpg").
std::string encode_image(const Image& image, const std::string& extension);

/// "a JPEG image" for bytes that begin like one (or PNG, BMP, GIF, TIFF, WebP), "" for anything
/// else.
std::string_view image_kind(std::string_view bytes);

/// `; 28x28x3 looks like height x width x channels, Caffe wants channels first`, or "" for shapes
/// that do not.
std::string channels_first_hint(const Shape& image);

}  // namespace crema
