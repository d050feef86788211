#include "data/datum.h"

#include <gmock/gmock.h>

#include <cstring>

#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::error_of;

std::string parse_error(const std::string& value) {
  caffe::Datum datum;
  return error_of([&] { parse_datum("k1", value, &datum); });
}

std::string parse_error(const caffe::Datum& datum) {
  return parse_error(datum.SerializeAsString());
}

TEST(Datum, BytesAndFloats) {
  caffe::Datum datum;
  parse_datum("k", byte_datum(2, 3, 4, 250, -7).SerializeAsString(), &datum);
  EXPECT_EQ(datum.label(0), -7);
  const ImageView bytes = image_of(datum);
  EXPECT_EQ(bytes.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(bytes.floats, nullptr);
  EXPECT_EQ(bytes.bytes[5], 255);
  EXPECT_EQ(bytes.bytes[6], 0);

  caffe::Datum floats = byte_datum(1, 1, 2, 0, 0);
  floats.clear_data();
  floats.add_float_data(1.5f);
  floats.add_float_data(-2.0f);
  parse_datum("k", floats.SerializeAsString(), &datum);  // reuses the message
  EXPECT_EQ(image_of(datum).bytes, nullptr);
  EXPECT_EQ(image_of(datum).floats[1], -2.0f);
}

TEST(Datum, SaysWhatIsWrongWithWhichRecord) {
  EXPECT_EQ(parse_error(""), "record \"k1\" is empty (0 bytes)");
  EXPECT_EQ(parse_error("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            "record \"k1\" is not a Datum: its 10 bytes cannot be parsed");
  EXPECT_EQ(parse_error("\xff\xd8\xff\xe0 and so on"),
            "record \"k1\" is a JPEG image by itself, not a Datum that holds one");
  EXPECT_EQ(
      parse_error(std::string("\x28\x05", 2)),
      "record \"k1\" holds no image: its channels x height x width are 0x0x0 (2 bytes in all)");

  caffe::Datum datum = byte_datum(3, 4, 5, 0, 1);
  datum.mutable_data()->resize(50);
  EXPECT_EQ(parse_error(datum),
            "record \"k1\" needs 60 values for 3x4x5, but has 50 bytes of data");
  datum.clear_data();
  EXPECT_EQ(parse_error(datum),
            "record \"k1\" needs 60 values for 3x4x5, but has neither data nor float_data");
  datum.add_float_data(1);
  EXPECT_EQ(parse_error(datum),
            "record \"k1\" needs 60 values for 3x4x5, but has 1 numbers in float_data");
  datum.set_data("ab");
  EXPECT_EQ(
      parse_error(datum),
      "record \"k1\" holds an image in data (2 bytes) and in float_data (1 numbers): which one "
      "is meant?");
  datum = byte_datum(1, 1, 1, 0, 0);
  datum.set_height(-1);
  EXPECT_EQ(parse_error(datum),
            "record \"k1\" holds no image: its channels x height x width are 1x-1x1 (" +
                std::to_string(datum.ByteSizeLong()) + " bytes in all)");
  for (const int size : {0x7fffffff, 0x40000000}) {
    datum.set_channels(size);
    datum.set_height(size);
    datum.set_width(size);
    EXPECT_THAT(parse_error(datum), ::testing::HasSubstr("needs too many values"));
  }
}

TEST(Datum, EncodedImages) {
  caffe::Datum datum;
  datum.set_data(std::string("\x89PNG\r\n\x1a\n....", 12));
  EXPECT_EQ(
      parse_error(datum),
      "record \"k1\" holds no image: its channels x height x width are 0x0x0 (14 bytes in all); "
      "the data are a PNG image, whose \"encoded\" flag is unset");
  datum.set_channels(3);
  datum.set_height(8);
  datum.set_width(8);
  EXPECT_EQ(
      parse_error(datum),
      "record \"k1\" needs 192 values for 3x8x8, but has 12 bytes of data; the data are a PNG "
      "image, whose \"encoded\" flag is unset");
  datum.set_encoded(true);
  EXPECT_EQ(parse_error(datum), "");
  Image decoded;
  EXPECT_EQ(error_of([&] { image_of(datum, Decode::kAsIs, &decoded); }),
            "the 12 bytes begin like a PNG image, but cannot be decoded: it is cut short");
  datum.clear_data();
  EXPECT_EQ(parse_error(datum), "record \"k1\" is an encoded image, but its data are empty");

  const Image image = testing::noise(3, 4, 5, 1);
  datum.set_data(encode_image(image, "png"));
  const ImageView view = image_of(datum, Decode::kAsIs, &decoded);
  EXPECT_EQ(view.shape(), image.shape());
  EXPECT_EQ(decoded.bytes, image.bytes);
  EXPECT_EQ(image_of(datum, Decode::kGray, &decoded).channels, 1);
}

TEST(Datum, Labels) {
  std::vector<float> labels{7};
  caffe::Datum datum = byte_datum(1, 1, 1, 0, 16777217);
  labels_of(datum, &labels);
  EXPECT_EQ(labels, (std::vector<float>{16777216}));
  datum.add_label(-2);
  labels_of(datum, &labels);
  EXPECT_EQ(labels, (std::vector<float>{16777216, -2}));
  datum.add_float_label(0.5f);
  EXPECT_EQ(parse_error(datum),
            "record \"k1\" has 2 in label and 1 in float_label: which are meant?");
  datum.clear_label();
  datum.add_float_label(1e9f);
  EXPECT_EQ(parse_error(datum), "");
  labels_of(datum, &labels);
  EXPECT_EQ(labels, (std::vector<float>{0.5f, 1e9f}));
  datum.clear_float_label();
  labels_of(datum, &labels);
  EXPECT_EQ(labels, (std::vector<float>{0}));
}

TEST(Datum, KeysStayOnOneLine) {
  caffe::Datum datum;
  EXPECT_EQ(error_of([&] { parse_datum(std::string("a\0\n\xe9", 4), "", &datum); }),
            "record \"a\\x00\\x0a\\xe9\" is empty (0 bytes)");
  EXPECT_LT(error_of([&] { parse_datum(std::string(5000, 'k'), "", &datum); }).size(), 200u);
}

}  // namespace
}  // namespace crema
