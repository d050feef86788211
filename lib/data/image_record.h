// From a picture file to the value of a record.
#pragma once

#include <string>
#include <string_view>

#include "data/convert_images.h"
#include "data/image.h"

namespace crema {

/// Makes values for records, one at a time; a thread has its own.
class ImageRecordMaker {
 public:
  /// The options must outlive it.
  explicit ImageRecordMaker(const ConvertImagesOptions* options) : options_(options) {}

  /// Fills what belongs to the picture in `datum`, which has the labels already, and serializes it
  /// into `value`. `name` is the file's, whose ending says what type it is. Returns the shape that
  /// a reader will see. Errors say what is wrong with the picture.
  Shape make(std::string_view file, const std::string& name, caffe::Datum* datum,
             std::string* value);

 private:
  void store_pixels(const Image& image, caffe::Datum* datum);
  void store_file(std::string_view file, const std::string& name, const Image& image,
                  caffe::Datum* datum);

  const ConvertImagesOptions* options_;
  Image decoded_, resized_;
};

/// Types that --encode_type can name.
const std::vector<std::string>& encode_types();

}  // namespace crema
