#include "data/mean.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "data/hdf5_writer.h"
#include "data/image.h"
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
  const auto records = open_records(path);
  return compute_mean(records.get()).mean;
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

TEST(Mean, IsTheSameForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  testing::Records records;
  std::minstd_rand random(1);
  std::vector<double> exact(6);
  for (int i = 0; i < 700; ++i) {
    caffe::Datum datum = byte_datum(1, 2, 3, static_cast<int>(random() % 256), 0);
    if (i % 3 == 0) {
      datum.clear_data();
      for (int k = 0; k < 6; ++k) datum.add_float_data(static_cast<float>(random()) / 7e3f);
    }
    for (std::size_t k = 0; k < 6; ++k) {
      exact[k] += i % 3 == 0 ? static_cast<double>(datum.float_data(static_cast<int>(k)))
                             : static_cast<double>(static_cast<std::uint8_t>(datum.data()[k]));
    }
    records.emplace_back(fmt::format("{:08}", i), datum.SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  const auto stream = open_records(folder / "db");
  const ComputedMean one = compute_mean(stream.get());
  EXPECT_EQ(one.records, 700);
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_FLOAT_EQ(one.mean.values[k], static_cast<float>(exact[k] / 700));
  }
  for (const int threads : {2, 5}) {
    MeanOptions options;
    options.threads = threads;
    std::int64_t last = 0;
    options.progress = [&](std::int64_t done) { last = done; };
    EXPECT_EQ(compute_mean(stream.get(), options).mean.values, one.mean.values) << threads;
    EXPECT_EQ(last, 700);
  }
}

TEST(Mean, LeavesBrokenRecordsOutIfAsked) {
  const TemporaryFolder folder;
  caffe::Datum nan = byte_datum(1, 1, 1, 0, 0);
  nan.clear_data();
  nan.add_float_data(std::numeric_limits<float>::quiet_NaN());
  make_lmdb(folder / "db", {{"a", "broken"},
                            {"b", byte_datum(1, 1, 1, 10, 0).SerializeAsString()},
                            {"c", byte_datum(1, 1, 2, 10, 0).SerializeAsString()},
                            {"d", nan.SerializeAsString()},
                            {"e", byte_datum(1, 1, 1, 13, 0).SerializeAsString()}});
  const auto records = open_records(folder / "db");
  EXPECT_EQ(error_of([&] { compute_mean(records.get()); }),
            folder / "db: record \"a\" is not a Datum: its 6 bytes cannot be parsed");
  MeanOptions options;
  options.skip_bad_records = true;
  const ComputedMean result = compute_mean(records.get(), options);
  EXPECT_THAT(result.mean.values, ElementsAre(11.5));
  EXPECT_EQ(result.records, 2);
  ASSERT_EQ(result.skipped.size(), 3u);
  EXPECT_EQ(result.skipped[0].index, 0);
  EXPECT_EQ(result.skipped[1].why,
            folder /
                "db: record \"c\": the image is 1x1x2, but the first one is 1x1x1; a mean "
                "needs images of one size");
  EXPECT_EQ(result.skipped[2].why,
            folder / "db: record \"d\": the image holds values that are no finite numbers");
  make_lmdb(folder / "bad", {{"a", "broken"}, {"b", ""}});
  const auto none = open_records(folder / "bad");
  EXPECT_EQ(error_of([&] { compute_mean(none.get(), options); }),
            "none of the 2 records can be read; the first one: " + folder.path() +
                "/bad: record \"a\" is not a Datum: its 6 bytes cannot be parsed");
}

TEST(Mean, OfAListOfImagesAndAnHdf5File) {
  const TemporaryFolder folder;
  const Image one = testing::noise(3, 4, 5, 1), two = testing::noise(3, 4, 5, 2);
  testing::write_png(folder / "a.png", one);
  testing::write_png(folder / "b.png", two);
  testing::write_file(folder / "list", "a.png 0\nb.png 1\n");
  RecordStreamOptions options;
  options.root = folder.path() + "/";
  auto records = open_records(folder / "list", options);
  const MeanImage mean = compute_mean(records.get()).mean;
  EXPECT_EQ(mean.shape, (Shape{3, 4, 5}));
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(mean.values[i], (one.bytes[i] + two.bytes[i]) / 2.0f);
  }
  Hdf5Writer writer(folder / "f.h5");
  const std::vector<float> values{1, 2, 3, 4, 5.5f, 6, 7, 8};
  writer.append("pixels", Shape{2, 2, 1, 2}, values.data());
  writer.finish();
  options.dataset = "pixels";
  records = open_records(folder / "f.h5", options);
  const MeanImage rows = compute_mean(records.get()).mean;
  EXPECT_EQ(rows.shape, (Shape{2, 1, 2}));
  EXPECT_THAT(rows.values, ElementsAre(3.25, 4, 5, 6));
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
