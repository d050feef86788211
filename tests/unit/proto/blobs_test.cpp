#include "proto/blobs.h"

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

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

TEST(Blobs, HalfFloatsOfForksAreNamed) {
  caffe::BlobProto blob = blob_of("shape { dim: 1 }");
  blob.GetReflection()->MutableUnknownFields(&blob)->AddVarint(10, 2);
  blob.GetReflection()->MutableUnknownFields(&blob)->AddLengthDelimited(12, "ab");
  EXPECT_EQ(
      error_of([&] { values(blob); }),
      "the values are half floats as NVIDIA Caffe (NVCaffe) writes them, which Crema does not read "
      "yet");
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
