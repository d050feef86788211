#include "data/mean.h"

#include <gmock/gmock.h>

#include "fixtures.h"
#include "proto/blobs.h"
#include "proto/io.h"

namespace crema {
namespace {

using testing::byte_datum;
using ::testing::ElementsAre;
using testing::error_of;
using testing::make_lmdb;
using testing::TemporaryFolder;

MeanImage mean_of(const std::string& path) {
  LmdbReader reader(path);
  return compute_mean(&reader);
}

TEST(Mean, OfBytesFloatsAndPictureFiles) {
  const TemporaryFolder folder;
  caffe::Datum floats = byte_datum(2, 1, 2, 0, 0);
  floats.clear_data();
  for (const float value : {0.5f, 1.0f, -2.0f, 8.0f}) floats.add_float_data(value);
  make_lmdb(folder / "db", {{"a", byte_datum(2, 1, 2, 10, 0).SerializeAsString()},
                            {"b", floats.SerializeAsString()}});
  const MeanImage mean = mean_of(folder / "db");
  EXPECT_EQ(mean.shape, (Shape{2, 1, 2}));
  EXPECT_THAT(mean.values, ElementsAre(5.25, 6, 5, 10.5));
  EXPECT_THAT(mean.channel_means(), ElementsAre(5.625, 7.75));

  const Image one = testing::noise(3, 4, 5, 1), two = testing::noise(3, 4, 5, 2);
  testing::Records records;
  for (const Image& image : {one, two}) {
    caffe::Datum datum;
    datum.set_encoded(true);
    datum.set_data(encode_image(image, "png"));
    records.emplace_back(fmt::format("{}", records.size()), datum.SerializeAsString());
  }
  make_lmdb(folder / "encoded", records);
  const MeanImage encoded = mean_of(folder / "encoded");
  ASSERT_EQ(encoded.values.size(), 60u);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(encoded.values[i], (one.bytes[i] + two.bytes[i]) / 2.0f);
  }
}

TEST(Mean, SumsDoNotLoseSmallParts) {
  const TemporaryFolder folder;
  testing::Records records;
  for (int i = 0; i < 1001; ++i) {
    caffe::Datum datum = byte_datum(1, 1, 1, 0, 0);
    datum.clear_data();
    datum.add_float_data(i == 0 ? 1e9f : 1.0f);  // in single precision each 1 would be lost
    records.emplace_back(fmt::format("{:08}", i), datum.SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  EXPECT_EQ(mean_of(folder / "db").values[0], static_cast<float>(1000001000.0 / 1001));
}

TEST(Mean, IsStoredInTheLegacyForm) {
  const TemporaryFolder folder;
  const MeanImage mean{Shape{2, 1, 3}, {1, 2, 3, 4, 5, 6}};
  write_mean(mean, folder / "m");
  caffe::BlobProto blob;
  read_binary(folder / "m", &blob);
  EXPECT_TRUE(is_legacy(blob));
  EXPECT_EQ(stored_shape(blob), (Shape{1, 2, 1, 3}));
  const MeanImage back = read_mean(folder / "m");
  EXPECT_EQ(back.shape, mean.shape);
  EXPECT_EQ(back.values, mean.values);
}

TEST(Mean, ImagesNeedOneSize) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"a", byte_datum(1, 8, 8, 10, 0).SerializeAsString()},
                            {"b", byte_datum(1, 8, 9, 10, 0).SerializeAsString()}});
  EXPECT_EQ(error_of([&] { mean_of(folder / "db"); }),
            folder /
                "db: record \"b\": the image is 1x8x9, but the first one is 1x8x8; a mean "
                "needs images of one size");
}

}  // namespace
}  // namespace crema
