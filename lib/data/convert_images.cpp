#include "data/convert_images.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/signals.h"
#include "data/database.h"
#include "data/image.h"
#include "data/image_list.h"
#include "data/permutation.h"

namespace crema {
namespace {

/// Errors in one message: enough to see what they have in common.
constexpr std::size_t kListed = 10;

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
bool has_colours(const std::string& file) {
  Image image;
  try {
    decode_image(file, Decode::kAsIs, &image);
  } catch (const Error&) {
    return true;
  }
  return image.channels > 1;
}

class Converter {
 public:
  explicit Converter(const ConvertImagesOptions& options) : options_(options) {}

  /// The Datum of one file.
  void convert(const std::string& path, int label, caffe::Datum* datum) {
    datum->Clear();
    datum->add_label(label);
    const std::string file = read_listed_file(path);
    with_context([&] { return path; }, [&] { convert_bytes(file, extension_of(path), datum); });
  }

 private:
  void convert_bytes(const std::string& file, const std::string& extension, caffe::Datum* datum) {
    const bool resize = options_.resize_height > 0;
    // Also what will be stored as it is: that it cannot be read should be known now.
    decode_image(file, options_.gray ? Decode::kGray : Decode::kColor, &decoded_);
    if (resize) {
      resize_image(decoded_, options_.resize_height, options_.resize_width, &resized_);
    }
    const Image& image = resize ? resized_ : decoded_;
    if (options_.check_size) {
      if (!first_shape_) first_shape_ = image.shape();
      require(image.shape() == *first_shape_, "the image is {}, but the first one is {}",
              image.shape().str(), first_shape_->str());
    }
    if (options_.encoded) {
      const std::string& type = options_.encode_type.empty() ? extension : options_.encode_type;
      require(!type.empty(),
              "the name has no ending that would tell how to encode it; --encode_type can");
      datum->set_encoded(true);
      if (!resize && same_type(extension, type) && !(options_.gray && has_colours(file))) {
        datum->set_data(file);
      } else {
        datum->set_data(encode_image(image, type));
      }
      return;
    }
    datum->set_channels(static_cast<int>(image.channels));
    datum->set_height(static_cast<int>(image.height));
    datum->set_width(static_cast<int>(image.width));
    datum->set_data(image.bytes.data(), image.bytes.size());
    datum->set_encoded(false);
  }

  const ConvertImagesOptions& options_;
  Image decoded_, resized_;
  std::optional<Shape> first_shape_;
};

[[noreturn]] void refuse(const std::vector<std::string>& bad, std::int64_t all) {
  const std::vector<std::string> listed(
      bad.begin(), bad.begin() + static_cast<std::ptrdiff_t>(std::min(bad.size(), kListed)));
  fail("{} of {} images cannot be converted (--skip_bad_records leaves such out): {}{}", bad.size(),
       all, fmt::join(listed, "; "),
       bad.size() > kListed ? fmt::format("; and {} more", bad.size() - kListed) : "");
}

}  // namespace

ConvertImagesResult convert_images(
    const std::string& root, const std::string& list, const std::string& db,
    const ConvertImagesOptions& options,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  CREMA_ASSERT((options.resize_height > 0) == (options.resize_width > 0));
  StopOnSignal signals;  // before there is anything to clear away
  const auto writer = create_database(db, options.backend);  // fails at once if there is something
  const ImageList images(list);
  std::vector<std::int64_t> order(static_cast<std::size_t>(images.size()));
  std::iota(order.begin(), order.end(), 0);
  if (options.shuffle) {
    const Permutation shuffled(RandomStream(options.seed, stream_id("convert-imageset")), 0,
                               images.size());
    for (std::int64_t& place : order) place = shuffled[place];
  }
  Converter converter(options);
  ConvertImagesResult result;
  caffe::Datum datum;
  for (std::int64_t i = 0; i < images.size(); ++i) {
    const std::int64_t place = order[static_cast<std::size_t>(i)];
    bool good = true;
    try {
      with_context(
          [&] { return images.where(place); },
          [&] { converter.convert(images.file(place, root), images.whole_label(place), &datum); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUser) throw;
      result.skipped.emplace_back(error.what());
      good = false;
    }
    // Once the data base will not be kept only the other bad images are of interest.
    if (good && (result.skipped.empty() || options.skip_bad_records)) {
      with_context([&] { return images.where(place); },
                   [&] {
                     writer->put(fmt::format("{:08}_{}", i, images.name(place)),
                                 datum.SerializeAsString());
                   });
      ++result.records;
    }
    if (progress) progress(i + 1, images.size());
    signals.check();
  }
  if (!result.skipped.empty() && !(options.skip_bad_records && result.records > 0)) {
    refuse(result.skipped, images.size());
  }
  writer->finish();
  return result;
}

}  // namespace crema
