// Datum, the message in which Caffe's data bases hold a picture and its label.
#pragma once

#include <string_view>
#include <vector>

#include "caffe.pb.h"
#include "data/image.h"

namespace crema {

/// Parses the value of record `key` into `datum` (whose memory is reused) and checks that it holds
/// one picture: the bytes of a picture file, if `encoded`; else positive sizes, and exactly as many
/// bytes in `data` or numbers in `float_data`, not both; nor labels in both `label` and
/// `float_label`. Every failure begins with `record "KEY"`.
void parse_datum(std::string_view key, std::string_view value, caffe::Datum* datum);

/// The labels of a checked datum; without any one 0, as in Caffe.
void labels_of(const caffe::Datum& datum, std::vector<float>* labels);

/// The picture of a checked datum that is not encoded; valid as long as it is.
ImageView image_of(const caffe::Datum& datum);

/// The picture of a checked datum; an encoded one is decoded into `decoded`, whose memory is reused
/// and must stay. (Of raw ones `as` changes nothing, as in Caffe.)
ImageView image_of(const caffe::Datum& datum, Decode as, Image* decoded);

}  // namespace crema
