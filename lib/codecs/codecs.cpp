// The library of picture codecs: OpenCV behind three functions (data/image_codecs.h).
//
// It is linked by nothing and opened at run time. OpenCV must not use threads: ours are busy.
#include <zlib.h>

#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "data/image_codecs.h"

namespace {

using crema::Decode;
using crema::Image;
using crema::Plane;

/// The sentence of an OpenCV error, without file and line of its sources.
std::string sentence(const cv::Exception& error) {
  std::string text = error.err.empty() ? error.what() : error.err;
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

/// Runs `body`, which returns what went wrong; whatever it throws becomes text too.
template <class Body>
std::string guarded(const Body& body) {
  try {
    return body();
  } catch (const cv::Exception& error) {
    return sentence(error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// OpenCV's view of each plane of an image.
std::vector<cv::Mat> planes_of(const Image& image) {
  std::vector<cv::Mat> planes;
  const auto height = static_cast<int>(image.height), width = static_cast<int>(image.width);
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const std::uint8_t* const plane = image.bytes.data() + c * image.height * image.width;
    planes.emplace_back(height, width, CV_8UC1, const_cast<std::uint8_t*>(plane));
  }
  return planes;
}

std::uint32_t big_endian(std::string_view four) {
  std::uint32_t value = 0;
  for (const char c : four) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// What is wrong with the chunks of a PNG file, "" for a sound one and for other files. libpng
/// would find it as well, but print its own line about it.
std::string png_damage(std::string_view file) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  constexpr std::size_t kFrame = 12;  // a chunk's length, type and checksum
  if (!file.starts_with(kSignature)) return "";
  for (std::size_t at = kSignature.size(); file.size() - at >= kFrame;) {
    const std::uint32_t length = big_endian(file.substr(at, 4));
    if (file.size() - at - kFrame < length) break;
    const std::string_view checked = file.substr(at + 4, 4 + std::size_t{length});
    const std::string_view type = checked.substr(0, 4);
    at += kFrame + length;
    const bool needed = (type[0] & 0x20) == 0;  // a capital letter
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    if (needed && sum != big_endian(file.substr(at - 4, 4))) return "its checksum is wrong";
    if (type == "IEND") return "";
  }
  return "it is cut short";
}

std::string decode(std::string_view file, Decode as, Image* image) {
  return guarded([&]() -> std::string {
    if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      return "it has more than 2 GB";
    }
    if (std::string damage = png_damage(file); !damage.empty()) return damage;
    const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1, const_cast<char*>(file.data()));
    const int mode = as == Decode::kColor  ? cv::IMREAD_COLOR
                     : as == Decode::kGray ? cv::IMREAD_GRAYSCALE
                                           : cv::IMREAD_UNCHANGED;
    const cv::Mat picture = cv::imdecode(bytes, mode);
    if (picture.empty()) return "it is of no known kind, or damaged";
    if (picture.depth() != CV_8U) {
      return picture.depth() == CV_16U
                 ? "it has 16 bits a channel, 8 are needed; forced to colour or grey, it "
                   "would keep the upper 8"
                 : "its channels are not of 8 bits";
    }
    const int channels = picture.channels();
    if (channels != 1 && channels != 3 && channels != 4) {
      return "it has " + std::to_string(channels) + " channels, not 1, 3 or 4";
    }
    image->channels = channels;
    image->height = picture.rows;
    image->width = picture.cols;
    image->bytes.resize(picture.total() * picture.elemSize());
    std::vector<cv::Mat> planes = planes_of(*image);
    cv::split(picture, planes);  // their size and type fit, so it fills them in place
    return "";
  });
}

std::string encode(const Image& image, const std::string& extension, std::string* file) {
  return guarded([&]() -> std::string {
    cv::Mat picture;
    cv::merge(planes_of(image), picture);
    std::vector<unsigned char> bytes;
    if (!cv::imencode("." + extension, picture, bytes)) return "the codec refuses";
    file->assign(bytes.begin(), bytes.end());
    return "";
  });
}

std::string resize(const std::uint8_t* from, const Plane& from_plane, std::uint8_t* to,
                   const Plane& to_plane) {
  return guarded([&]() -> std::string {
    const cv::Mat source(static_cast<int>(from_plane.height), static_cast<int>(from_plane.width),
                         CV_8UC1, const_cast<std::uint8_t*>(from),
                         static_cast<std::size_t>(from_plane.stride));
    cv::Mat target(static_cast<int>(to_plane.height), static_cast<int>(to_plane.width), CV_8UC1, to,
                   static_cast<std::size_t>(to_plane.stride));
    cv::resize(source, target, target.size(), 0, 0, cv::INTER_LINEAR);
    return "";
  });
}

}  // namespace

extern "C" const crema::ImageCodecs* crema_image_codecs() {
  static constexpr crema::ImageCodecs kCodecs{decode, encode, resize};
  cv::setNumThreads(1);
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  return &kCodecs;
}
