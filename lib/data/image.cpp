// Pictures by way of the codecs' library, with messages that help.
#include "data/image.h"

#include "base/error.h"
#include "base/files.h"
#include "data/image_codecs.h"

namespace crema {

void decode_image(std::string_view file, Decode as, Image* image) {
  require(!file.empty(), "the image is empty (0 bytes)");
  const std::string problem = image_codecs().decode(file, as, image);
  if (problem.empty()) return;
  const std::string_view kind = image_kind(file);
  fail("the {} bytes {}: {}", file.size(),
       kind.empty() ? "cannot be decoded as an image"
                    : fmt::format("begin like {}, but cannot be decoded", kind),
       problem);
}

void read_image(const std::string& path, Decode as, Image* image) {
  const std::string file = read_file(path);
  with_context([&] { return path; }, [&] { decode_image(file, as, image); });
}

void resize_image(const Image& from, std::int64_t height, std::int64_t width, Image* to) {
  CREMA_ASSERT(height > 0 && width > 0 && !from.bytes.empty());
  to->channels = from.channels;
  to->height = height;
  to->width = width;
  to->bytes.resize(static_cast<std::size_t>(to->shape().count()));
  for (std::int64_t c = 0; c < from.channels; ++c) {
    const std::string problem = image_codecs().resize(
        from.bytes.data() + c * from.height * from.width, {from.height, from.width, from.width},
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
