#include "data/image_record.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

/// Memory that a thread keeps from one picture to the next.
constexpr std::size_t kKept = std::size_t{16} << 20;
/// A message of protobuf holds less than 2 GB; so much is left for what is no pixel.
constexpr std::int64_t kLargest = std::numeric_limits<int>::max() - (std::int64_t{1} << 20);

/// What follows the last dot of a name, in small letters, "" if nothing does.
std::string extension_of(const std::string& name) {
  const std::size_t dot = name.find_last_of("./");
  if (dot == std::string::npos || name[dot] == '/') return "";
  std::string extension = name.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

bool same_type(const std::string& a, const std::string& b) {
  const auto jpeg = [](const std::string& type) { return type == "jpg" || type == "jpeg"; };
  return a == b || (jpeg(a) && jpeg(b));
}

/// Whether a picture file must be made grey: it has colours, or a depth that pictures here lack.
bool has_colours(std::string_view file) {
  Image image;
  try {
    decode_image(file, Decode::kAsIs, &image);
  } catch (const Error&) {
    return true;
  }
  return image.channels > 1;
}

void drop_if_large(Image* image) {
  if (image->bytes.capacity() > kKept) *image = Image();
}

}  // namespace

const std::vector<std::string>& encode_types() {
  static const std::vector<std::string> types{"bmp", "jpeg", "jpg",  "pgm", "png",
                                              "ppm", "tif",  "tiff", "webp"};
  return types;
}

Shape ImageRecordMaker::make(std::string_view file, const std::string& name, caffe::Datum* datum,
                             std::string* value) {
  const bool resize = options_->resize_height > 0;
  // Also what will be stored as it is: that it cannot be read should be known now.
  decode_image(file, options_->gray ? Decode::kGray : Decode::kColor, &decoded_);
  if (resize) {
    resize_image(decoded_, options_->resize_height, options_->resize_width, &resized_);
  }
  const Image& image = resize ? resized_ : decoded_;
  Shape shape = image.shape();
  if (options_->encoded) {
    store_file(file, name, image, datum);
  } else {
    store_pixels(image, datum);
  }
  // A large picture is there once or twice, not four times.
  drop_if_large(&decoded_);
  drop_if_large(&resized_);
  CREMA_ASSERT(datum->SerializeToString(value));
  return shape;
}

void ImageRecordMaker::store_pixels(const Image& image, caffe::Datum* datum) {
  const std::int64_t bytes = image.shape().count();
  require(bytes <= kLargest,
          "{} is {} of pixels, and a record holds 2 GB; make it smaller (--resize_height, "
          "--resize_width) or store the file (--encoded)",
          image.shape().str(), human_bytes(static_cast<double>(bytes)));
  datum->set_channels(static_cast<int>(image.channels));
  datum->set_height(static_cast<int>(image.height));
  datum->set_width(static_cast<int>(image.width));
  datum->set_data(image.bytes.data(), image.bytes.size());
  datum->set_encoded(false);
}

void ImageRecordMaker::store_file(std::string_view file, const std::string& name,
                                  const Image& image, caffe::Datum* datum) {
  const std::string extension = extension_of(name);
  const std::string& type = options_->encode_type.empty() ? extension : options_->encode_type;
  require(!type.empty(),
          "the name has no ending that would tell how to encode it; --encode_type can");
  datum->set_encoded(true);
  const bool unchanged = options_->resize_height == 0 && same_type(extension, type) &&
                         !(options_->gray && has_colours(file));
  if (unchanged) {
    datum->set_data(file.data(), file.size());
  } else {
    datum->set_data(encode_image(image, type));
  }
  require(static_cast<std::int64_t>(datum->data().size()) <= kLargest,
          "its {} as a {} file do not fit into a record, which holds 2 GB",
          human_bytes(static_cast<double>(datum->data().size())), type);
}

}  // namespace crema
