// EXIF records are TIFF files within a JPEG file, so that one small reader of TIFF's directory
// serves the size of a TIFF and the orientation of a photograph.
#include "data/image_header.h"

#include <cstdint>
#include <cstdlib>

namespace crema {
namespace {

/// An unsigned number of up to four bytes, or nothing behind the end.
std::optional<std::uint32_t> number(std::string_view bytes, std::size_t at, int size,
                                    bool little_endian) {
  const auto count = static_cast<std::size_t>(size);
  if (at > bytes.size() || bytes.size() - at < count) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = at + (little_endian ? count - 1 - i : i);
    value = value << 8 | static_cast<unsigned char>(bytes[from]);
  }
  return value;
}

constexpr int kWidthTag = 256, kHeightTag = 257, kOrientationTag = 274;

/// The first directory of a TIFF file.
class TiffDirectory {
 public:
  explicit TiffDirectory(std::string_view bytes) : bytes_(bytes) {
    using namespace std::string_view_literals;
    little_endian_ = bytes.substr(0, 4) == "II*\0"sv;
    if (!little_endian_ && bytes.substr(0, 4) != "MM\0*"sv) return;
    const auto at = number(bytes_, 4, 4, little_endian_);
    const auto entries = at ? number(bytes_, *at, 2, little_endian_) : std::nullopt;
    if (!entries) return;
    sound_ = true;
    first_ = std::size_t{*at} + 2;
    entries_ = *entries;
  }

  bool sound() const { return sound_; }

  /// The value of a field that is one number of 16 or 32 bits; 0 for fields of another type.
  std::optional<std::uint32_t> value(std::uint32_t tag) const {
    constexpr std::size_t kEntry = 12;  // tag, type, count, value
    constexpr std::uint32_t kShort = 3, kLong = 4;
    for (std::uint32_t i = 0; i < entries_; ++i) {
      const std::size_t at = first_ + i * kEntry;
      const auto found = number(bytes_, at, 2, little_endian_);
      if (!found) return std::nullopt;
      if (*found != tag) continue;
      const auto type = number(bytes_, at + 2, 2, little_endian_);
      if (type == kShort) return number(bytes_, at + 8, 2, little_endian_);
      if (type == kLong) return number(bytes_, at + 8, 4, little_endian_);
      return 0;
    }
    return std::nullopt;
  }

 private:
  std::string_view bytes_;
  bool little_endian_ = false, sound_ = false;
  std::size_t first_ = 0;
  std::uint32_t entries_ = 0;
};

std::optional<PictureSize> size_at(std::string_view file, std::size_t height, std::size_t width,
                                   int bytes, bool little_endian) {
  const auto h = number(file, height, bytes, little_endian);
  const auto w = number(file, width, bytes, little_endian);
  if (!h || !w) return std::nullopt;
  return PictureSize{*h, *w};
}

std::optional<PictureSize> bmp_size(std::string_view file) {
  constexpr std::uint32_t kOldHeader = 12;
  if (number(file, 14, 4, true) == kOldHeader) return size_at(file, 20, 18, 2, true);
  auto size = size_at(file, 22, 18, 4, true);
  // The height of pictures that are stored from the top is negative.
  if (size) size->height = std::abs(std::int64_t{static_cast<std::int32_t>(size->height)});
  return size;
}

std::optional<PictureSize> tiff_size(std::string_view file) {
  const TiffDirectory directory(file);
  const auto height = directory.value(kHeightTag), width = directory.value(kWidthTag);
  if (!height || !width) return std::nullopt;
  return PictureSize{*height, *width};
}

}  // namespace

std::optional<PictureSize> header_size(std::string_view file) {
  const std::string_view kind = image_kind(file);
  if (kind == "a PNG image") return size_at(file, 20, 16, 4, false);
  if (kind == "a GIF image") return size_at(file, 8, 6, 2, true);
  if (kind == "a BMP image") return bmp_size(file);
  if (kind == "a TIFF image") return tiff_size(file);
  return std::nullopt;
}

bool is_turned_by_exif(std::string_view jpeg) {
  using namespace std::string_view_literals;
  constexpr std::uint32_t kExif = 0xe1, kScan = 0xda;
  for (std::size_t at = 2; number(jpeg, at, 1, false) == 0xff;) {
    const auto marker = number(jpeg, at + 1, 1, false);
    const auto length = number(jpeg, at + 2, 2, false);
    if (!marker || !length || marker == kScan) return false;
    const std::string_view body = jpeg.substr(at + 4, *length < 2 ? 0 : *length - 2);
    if (marker == kExif && body.starts_with("Exif\0\0"sv)) {
      const TiffDirectory directory(body.substr(6));
      if (!directory.sound() || directory.value(kOrientationTag).value_or(1) != 1) return true;
    }
    at += 2 + *length;
  }
  return false;
}

}  // namespace crema
