// Pictures by way of TurboJPEG and the codecs' library, with messages that help.
#include "data/image.h"

#include "base/error.h"
#include "base/files.h"
#include "data/image_codecs.h"
#include "data/image_header.h"
#include "data/jpeg.h"

namespace crema {
namespace {

/// What is wrong with the file, "" for nothing.
std::string decode(std::string_view file, std::string_view kind, Decode as, Image* image) {
  if (const auto size = header_size(file)) {
    if (std::string problem = too_large(*size); !problem.empty()) return problem;
  }
  if (kind == "a JPEG image") {
    if (const auto problem = decode_jpeg(file, as, image)) return *problem;
  }
  std::string problem = image_codecs().decode(file, as, image);
  // OpenCV may have been built without these.
  const bool optional = kind == "a GIF image" || kind == "a TIFF image" || kind == "a WebP image";
  if (!problem.empty() && optional) {
    problem += "; if it opens elsewhere, this OpenCV reads no such files: convert it to PNG";
  }
  return problem;
}

}  // namespace

std::string PictureSize::str() const { return fmt::format("{}x{}", height, width); }

std::string too_large(PictureSize size) {
  const bool fits = size.height == 0 || size.width <= kMaxPixels / size.height;
  return fits ? ""
              : fmt::format("it is {}: too large, at most {} pixels can be read", size.str(),
                            kMaxPixels);
}

void decode_image(std::string_view file, Decode as, Image* image) {
  require(!file.empty(), "the image is empty (0 bytes)");
  const std::string_view kind = image_kind(file);
  const std::string problem = decode(file, kind, as, image);
  if (problem.empty()) return;
  fail("the {} bytes {}: {}", file.size(),
       kind.empty() ? "cannot be decoded as an image"
                    : fmt::format("begin like {}, but cannot be decoded", kind),
       problem);
}

void read_image(const std::string& path, Decode as, Image* image) {
  const std::string file = read_file(path);
  with_context([&] { return path; }, [&] { decode_image(file, as, image); });
}

void resize_image(const ImageView& from, std::int64_t height, std::int64_t width, Image* to) {
  CREMA_ASSERT(height > 0 && width > 0 && from.bytes != nullptr);
  to->channels = from.channels;
  to->height = height;
  to->width = width;
  to->bytes.resize(static_cast<std::size_t>(to->shape().count()));
  for (std::int64_t c = 0; c < from.channels; ++c) {
    const std::string problem = image_codecs().resize(
        from.bytes + c * from.height * from.width, {from.height, from.width, from.width},
        to->bytes.data() + c * height * width, {height, width, width});
    require(problem.empty(), "cannot resize an image of {} to {}x{}: {}", from.shape().str(),
            height, width, problem);
  }
}

std::string encode_image(const Image& image, const std::string& extension) {
  std::string file;
  const std::string problem = image_codecs().encode(image, extension, &file);
  require(problem.empty(), "cannot encode an image of {} as {}: {}", image.shape().str(), extension,
          problem);
  return file;
}

std::string_view image_kind(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.substr(0, 3) == "\xff\xd8\xff"sv) return "a JPEG image";
  if (bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n"sv) return "a PNG image";
  if (bytes.substr(0, 6) == "GIF87a"sv || bytes.substr(0, 6) == "GIF89a"sv) return "a GIF image";
  if (bytes.substr(0, 4) == "II*\0"sv || bytes.substr(0, 4) == "MM\0*"sv) return "a TIFF image";
  if (bytes.substr(0, 4) == "RIFF"sv && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP"sv) {
    return "a WebP image";
  }
  // Two letters are little to go by. Four reserved bytes follow behind the size, and the length of
  // one of the known headers.
  if (bytes.substr(0, 2) == "BM"sv && bytes.size() >= 18 && bytes.substr(6, 4) == "\0\0\0\0"sv &&
      bytes.substr(15, 3) == "\0\0\0"sv &&
      "\x0c\x28\x34\x38\x40\x6c\x7c"sv.find(bytes[14]) != std::string_view::npos) {
    return "a BMP image";
  }
  return "";
}

// The slip that pictures from other tools come with most often.
std::string channels_first_hint(const Shape& image) {
  const bool last = image.axes() == 3 && image[2] <= 4 && image[0] > 4;
  if (!last) return "";
  return fmt::format("; {} looks like height x width x channels, Caffe wants the channels first",
                     image.str());
}

}  // namespace crema
