// A decompressor is made for each picture: that takes 0.1 microseconds.
#include "data/jpeg.h"

#include <turbojpeg.h>

#include <memory>

#include "data/image_header.h"

namespace crema {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kEnd = "\xff\xd9", kScan = "\xff\xda";
constexpr const char* kCutShort = "it is cut short";

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Decompressor = std::unique_ptr<void, Destroy>;

const unsigned char* bytes_of(std::string_view file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

/// Whether there is an end mark behind the last scan. (A preview in the EXIF record has both, too,
/// before the picture's own.)
bool has_end(std::string_view file) {
  const std::size_t scan = file.rfind(kScan), end = file.rfind(kEnd);
  return end != std::string_view::npos && (scan == std::string_view::npos || end > scan);
}

/// Decodes; what TurboJPEG says, "" for nothing. Of several warnings it tells the first.
std::string decompress(void* decompressor, std::string_view file, PictureSize size, int format,
                       std::uint8_t* pixels) {
  const int status =
      tjDecompress2(decompressor, bytes_of(file), file.size(), pixels, static_cast<int>(size.width),
                    0, static_cast<int>(size.height), format, TJFLAG_LIMITSCANS);
  return status == 0 ? "" : tjGetErrorStr2(decompressor);
}

/// Decodes; what is wrong with the file, "" for nothing.
std::string decode(void* decompressor, std::string_view file, PictureSize size, int format,
                   std::uint8_t* pixels) {
  std::string said = decompress(decompressor, file, size, format, pixels);
  if (said.empty()) return "";
  if (!has_end(file)) {
    // If nothing else is missing, there is nothing to say once the mark is there.
    const std::string whole = std::string(file) + std::string(kEnd);
    return decompress(decompressor, whole, size, format, pixels).empty() ? "" : kCutShort;
  }
  if (tjGetErrorCode(decompressor) == TJERR_FATAL) return said;
  for (const std::string_view broken :
       {"premature end of data segment"sv, "bad Huffman code"sv, "instead of RST"sv}) {
    if (said.find(broken) != std::string::npos) return said;
  }
  return "";
}

/// B, G, R, B, G, R, … to three planes.
void split(const std::uint8_t* __restrict pixels, std::int64_t count, std::uint8_t* __restrict blue,
           std::uint8_t* __restrict green, std::uint8_t* __restrict red) {
  for (std::int64_t i = 0; i < count; ++i) {
    blue[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    red[i] = pixels[3 * i + 2];
  }
}

}  // namespace

std::optional<std::string> decode_jpeg(std::string_view file, Decode as, Image* image) {
  const Decompressor decompressor(tjInitDecompress());
  if (!decompressor) return tjGetErrorStr2(nullptr);
  int width = 0, height = 0, sampling = 0, colors = 0;
  const int status = tjDecompressHeader3(decompressor.get(), bytes_of(file), file.size(), &width,
                                         &height, &sampling, &colors);
  if (width <= 0 || height <= 0) {
    return has_end(file) ? tjGetErrorStr2(decompressor.get()) : kCutShort;
  }
  const PictureSize size{height, width};
  if (std::string problem = too_large(size); !problem.empty()) return problem;
  // A size, but an error: a way of sampling that TurboJPEG has no name for.
  const bool strange = status != 0 && tjGetErrorCode(decompressor.get()) == TJERR_FATAL;
  const bool inks = colors == TJCS_CMYK || colors == TJCS_YCCK;
  if (strange || inks || (as != Decode::kAsIs && is_turned_by_exif(file))) {
    // OpenCV would take a part for the whole.
    return has_end(file) ? std::nullopt : std::optional<std::string>(kCutShort);
  }

  const bool gray = as == Decode::kGray || (as == Decode::kAsIs && colors == TJCS_GRAY);
  const std::int64_t count = size.count();
  image->channels = gray ? 1 : 3;
  image->height = height;
  image->width = width;
  image->bytes.resize(static_cast<std::size_t>(image->channels * count));
  std::uint8_t* const planes = image->bytes.data();
  if (gray) return decode(decompressor.get(), file, size, TJPF_GRAY, planes);
  const auto pixels =
      std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(3 * count));
  std::string problem = decode(decompressor.get(), file, size, TJPF_BGR, pixels.get());
  if (problem.empty()) split(pixels.get(), count, planes, planes + count, planes + 2 * count);
  return problem;
}

}  // namespace crema
