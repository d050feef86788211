// Datum, the message in which Caffe's data bases hold a picture and its label.
#pragma once

#include <string_view>

#include "caffe.pb.h"
#include "data/image.h"

namespace crema {

/// Parses the value of record `key` into `datum` (whose memory is reused) and checks that it holds
/// one picture: positive sizes, and exactly as many bytes in `data` or numbers in `float_data`, not
/// both. Every failure begins with `record "KEY"`. Encoded pictures (JPEG, PNG) are refused for
/// now.
void parse_datum(std::string_view key, std::string_view value, caffe::Datum* datum);

/// The picture of a checked datum; valid as long as it is.
ImageView image_of(const caffe::Datum& datum);

}  // namespace crema
