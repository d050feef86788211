#include "proto/blobs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "proto/text.h"
#include "scratch.h"

namespace crema {
namespace {

using testing::error_of;

caffe::BlobProto blob_of(const std::string& text) {
  caffe::BlobProto blob;
  parse_text(text, "b", &blob);
  return blob;
}

TEST(Blobs, Shapes) {
  EXPECT_EQ(stored_shape(blob_of("shape { dim: 2 dim: 3 }")), (Shape{2, 3}));
  EXPECT_EQ(stored_shape(blob_of("")), Shape());
  EXPECT_EQ(stored_shape(blob_of("num: 2 channels: 3 height: 4 width: 5")), (Shape{2, 3, 4, 5}));
  // Any legacy field wins; what is missing counts as 0.
  EXPECT_EQ(stored_shape(blob_of("width: 5 shape { dim: 9 }")), (Shape{0, 0, 0, 5}));
  EXPECT_FALSE(is_legacy(blob_of("shape { dim: 1 }")));
  EXPECT_TRUE(is_legacy(blob_of("height: 0")));
  EXPECT_EQ(error_of([] { stored_shape(blob_of("shape { dim: -1 }")); }),
            "a dimension cannot be negative: -1");
}

TEST(Blobs, Values) {
  EXPECT_EQ(values(blob_of("shape { dim: 2 } data: [1.5, 2]")), (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(values(blob_of("data: 7")), std::vector<float>{7});
  EXPECT_EQ(values(blob_of("shape { dim: 1 } data: [1, 2] double_data: 3")), std::vector<float>{3});
  EXPECT_TRUE(values(blob_of("shape { dim: 0 }")).empty());
  EXPECT_EQ(error_of([] { values(blob_of("shape { dim: 2 dim: 3 } data: [1, 2]")); }),
            "the shape 2x3 needs 6 values, but 2 are stored");
  EXPECT_EQ(error_of([] { values(blob_of("data: [1, 2]")); }),
            "the shape scalar needs 1 values, but 2 are stored");
}

std::string raw(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(Blobs, RawValuesOfEveryType) {
  caffe::BlobProto blob = blob_of("shape { dim: 2 }");
  const auto read = [&](int type, const std::string& bytes) {
    blob.set_raw_data_type(type);
    blob.set_raw_data(bytes);
    return values(blob);
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(read(0, raw({0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0})),
            (Floats{1.5F, -2}));
  EXPECT_EQ(read(1, raw({0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0})), (Floats{1.5F, -2}));
  EXPECT_EQ(read(2, raw({0, 0x3e, 0, 0xc0})), (Floats{1.5F, -2}));
  EXPECT_EQ(read(3, raw({0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0})), (Floats{-1, 7}));
  EXPECT_EQ(read(4, raw({0, 0, 0, 0x80, 7, 0, 0, 0})), (Floats{2147483648.0F, 7}));
  EXPECT_EQ(read(5, raw({1, 0})), (Floats{1, 0}));
  EXPECT_EQ(error_of([&] { read(6, "ab"); }), "the values are of an unknown raw type: 6");
  EXPECT_EQ(error_of([&] { read(2, "abc"); }),
            "the shape 2 needs 2 values of 2 bytes, but 3 bytes are stored");
  EXPECT_EQ(error_of([&] { read(2, "abcdef"); }),
            "the shape 2 needs 2 values of 2 bytes, but 6 bytes are stored");
}

TEST(Blobs, RawTypeIsFloatWhenNotGiven) {
  caffe::BlobProto blob = blob_of("shape { dim: 1 }");
  blob.set_raw_data(raw({0, 0, 0x80, 0x3f}));
  EXPECT_EQ(values(blob), std::vector<float>{1});
}

TEST(Blobs, EveryHalfFloat) {
  // Smallest subnormal, largest subnormal, smallest normal, largest, minus zero, infinity, NaN.
  caffe::BlobProto blob = blob_of("shape { dim: 7 } raw_data_type: 2");
  blob.set_raw_data(raw({1, 0, 0xff, 3, 0, 4, 0xff, 0x7b, 0, 0x80, 0, 0x7c, 1, 0x7c}));
  const std::vector<float> read = values(blob);
  EXPECT_EQ(read[0], std::ldexp(1.0F, -24));
  EXPECT_EQ(read[1], std::ldexp(1023.0F, -24));
  EXPECT_EQ(read[2], std::ldexp(1.0F, -14));
  EXPECT_EQ(read[3], 65504);
  EXPECT_EQ(read[4], 0);
  EXPECT_TRUE(std::signbit(read[4]));
  EXPECT_TRUE(std::isinf(read[5]));
  EXPECT_TRUE(std::isnan(read[6]));
}

TEST(Blobs, RawBlobsOfANetBecomeFloats) {
  caffe::NetParameter net;
  caffe::BlobProto* blob = net.add_layer()->add_blobs();
  *blob = blob_of("shape { dim: 2 } raw_data_type: 2 raw_diff_type: 5");
  blob->set_raw_data(raw({0, 0x3e, 0, 0xc0}));
  blob->set_raw_diff(raw({1, 0}));
  net.add_layer()->add_blobs()->add_data(3);
  EXPECT_EQ(widen_raw_blobs(&net), 1);
  EXPECT_EQ(net.layer(0).blobs(0).ShortDebugString(),
            "data: 1.5 data: -2 diff: 1 diff: 0 shape { dim: 2 }");
  EXPECT_EQ(widen_raw_blobs(&net), 0);
}

TEST(Blobs, ShapesFit) {
  const auto today = blob_of("shape { dim: 2 dim: 3 }");
  EXPECT_TRUE(shape_fits(today, Shape{2, 3}));
  EXPECT_FALSE(shape_fits(today, Shape{1, 1, 2, 3}));
  const auto legacy = blob_of("num: 1 channels: 1 height: 2 width: 3");
  EXPECT_TRUE(shape_fits(legacy, Shape{2, 3}));
  EXPECT_TRUE(shape_fits(legacy, Shape{1, 2, 3}));
  EXPECT_TRUE(shape_fits(legacy, Shape{1, 1, 2, 3}));
  EXPECT_FALSE(shape_fits(legacy, Shape{3, 2}));
  EXPECT_FALSE(shape_fits(legacy, Shape{6}));
  EXPECT_FALSE(shape_fits(legacy, Shape{1, 1, 1, 2, 3}));
  EXPECT_TRUE(shape_fits(blob_of("num: 1 channels: 1 height: 1 width: 4"), Shape{4}));
  EXPECT_TRUE(shape_fits(blob_of("num: 1 channels: 1 height: 1 width: 1"), Shape()));
  EXPECT_FALSE(shape_fits(blob_of("num: 4 channels: 1 height: 1 width: 1"), Shape{4}));
}

TEST(Blobs, Written) {
  auto blob = blob_of("num: 1 channels: 2 double_data: 1 data: [8, 9] diff: 3");
  const float data[] = {1, 2, 3, 4, 5, 6};
  to_proto(Shape{2, 3}, data, &blob);
  EXPECT_EQ(stored_shape(blob), (Shape{2, 3}));
  EXPECT_EQ(values(blob), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(blob.diff_size(), 1);
  to_proto(Shape(), data, &blob);
  EXPECT_TRUE(blob.has_shape());
  EXPECT_EQ(values(blob), std::vector<float>{1});
}

}  // namespace
}  // namespace crema
