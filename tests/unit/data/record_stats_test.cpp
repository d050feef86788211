// What measure_records() finds, against sums in this file.
#include "data/record_stats.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "data/hdf5_writer.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using ::testing::ElementsAre;
using testing::error_of;
using testing::make_lmdb;
using testing::noise;
using ::testing::Pair;
using testing::TemporaryFolder;

RecordStats stats_of(const std::string& path, const RecordStatsOptions& options = {}) {
  return measure_records(open_records(path).get(), options);
}

caffe::Datum float_datum(int channels, int height, int width, const std::vector<float>& values) {
  caffe::Datum datum = byte_datum(channels, height, width, 0, 0);
  datum.clear_data();
  for (const float value : values) datum.add_float_data(value);
  return datum;
}

TEST(RecordStats, SizesEncodingsLabelsAndBrokenRecords) {
  const TemporaryFolder folder;
  caffe::Datum several = byte_datum(1, 2, 2, 0, 7);
  several.add_label(9);
  caffe::Datum encoded;
  encoded.set_encoded(true);
  encoded.set_data(encode_image(noise(3, 4, 5, 1), "png"));
  encoded.add_float_label(0.5f);
  const testing::Records records{{"a", byte_datum(1, 2, 2, 0, -3).SerializeAsString()},
                                 {"b", several.SerializeAsString()},
                                 {"c", "broken"},
                                 {"d", encoded.SerializeAsString()},
                                 {"e", ""}};
  make_lmdb(folder / "db", records);
  const RecordStats stats = stats_of(folder / "db");
  EXPECT_EQ(stats.records, 5);
  EXPECT_EQ(stats.good(), 3);
  EXPECT_EQ(stats.decoded, 3);
  EXPECT_EQ(stats.bytes,
            static_cast<std::int64_t>(records[0].second.size() + records[1].second.size() +
                                      records[3].second.size()));
  EXPECT_EQ(stats.first_key, "a");
  EXPECT_EQ(stats.last_key, "e");
  ASSERT_EQ(stats.shapes.size(), 2u);
  EXPECT_EQ(stats.shapes.at(Shape{1, 2, 2}).count, 2);
  EXPECT_EQ(stats.shapes.at(Shape{3, 4, 5}).first, folder / "db: record \"d\"");
  EXPECT_THAT(stats.encodings, ElementsAre(Pair("PNG", 1), Pair("bytes", 2)));
  ASSERT_EQ(stats.label_counts.size(), 2u);
  EXPECT_EQ(stats.label_counts.at(1).count, 2);
  EXPECT_EQ(stats.label_counts.at(2).first, folder / "db: record \"b\"");
  EXPECT_TRUE(stats.float_labels);
  ASSERT_EQ(stats.labels.size(), 2u);
  EXPECT_EQ(stats.labels[0].count, 3);
  EXPECT_EQ(stats.labels[0].not_whole, 1);
  EXPECT_EQ(stats.labels[0].min, -3);
  EXPECT_EQ(stats.labels[0].max, 7);
  EXPECT_EQ(stats.labels[0].sum, 4.5);
  EXPECT_THAT(stats.labels[0].histogram, ElementsAre(Pair(-3, 1), Pair(7, 1)));
  EXPECT_THAT(stats.labels[1].histogram, ElementsAre(Pair(9, 1)));
  EXPECT_EQ(stats.label_changes, 2);
  EXPECT_EQ(stats.broken, 2);
  ASSERT_EQ(stats.first_broken.size(), 2u);
  EXPECT_EQ(stats.first_broken[1].index, 4);
  EXPECT_EQ(stats.first_broken[1].why, folder / "db: record \"e\" is empty (0 bytes)");
  EXPECT_EQ(stats.ended, "");
}

TEST(RecordStats, ValuesByChannelForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  testing::Records records;
  std::minstd_rand random(3);
  std::vector<double> values[3];
  for (int i = 0; i < 500; ++i) {
    caffe::Datum datum = byte_datum(3, 3, 4, 0, static_cast<int>(random() % 5));
    std::vector<float> floats;
    for (std::size_t k = 0; k < 36; ++k) {
      const auto byte = static_cast<std::uint8_t>(random() >> 10);
      (*datum.mutable_data())[k] = static_cast<char>(byte);
      floats.push_back(1e4f + static_cast<float>(random() % 1000) / 8);
      values[k / 12].push_back(i % 2 ? static_cast<double>(floats.back()) : byte);
    }
    if (i % 2) datum = float_datum(3, 3, 4, floats);
    records.emplace_back(fmt::format("{:04}", i), datum.SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  const RecordStats one = stats_of(folder / "db");
  ASSERT_EQ(one.channels.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0, squares = 0;
    for (const double value : values[c]) mean += value / static_cast<double>(values[c].size());
    for (const double value : values[c]) squares += (value - mean) * (value - mean);
    EXPECT_EQ(one.channels[c].count, 6000);
    EXPECT_NEAR(one.channels[c].mean, mean, 1e-9 * mean);
    EXPECT_NEAR(one.channels[c].deviation(), std::sqrt(squares / 6000), 1e-6);
    EXPECT_EQ(one.channels[c].min, *std::min_element(values[c].begin(), values[c].end()));
    EXPECT_EQ(one.channels[c].max, *std::max_element(values[c].begin(), values[c].end()));
  }
  for (const int threads : {2, 5}) {
    RecordStatsOptions options;
    options.threads = threads;
    const RecordStats many = stats_of(folder / "db", options);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(many.channels[c].mean, one.channels[c].mean);
      EXPECT_EQ(many.channels[c].squares, one.channels[c].squares);
    }
    EXPECT_EQ(many.label_changes, one.label_changes);
    EXPECT_EQ(many.labels[0].histogram, one.labels[0].histogram);
  }
}

TEST(RecordStats, OddPictures) {
  const TemporaryFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  caffe::Datum gray = byte_datum(3, 1, 2, 0, 0);
  gray.set_data("ababab");
  caffe::Datum same = gray;
  same.set_label(0, 1);
  caffe::Datum flat = byte_datum(3, 1, 2, 0, 0);
  flat.set_data("cccccc");
  make_lmdb(folder / "db",
            {{"a", byte_datum(3, 1, 2, 0, 0).SerializeAsString()},
             {"b", gray.SerializeAsString()},
             {"c", flat.SerializeAsString()},
             {"d", float_datum(3, 1, 2, {1, nan, infinite, 2, -infinite, 3}).SerializeAsString()},
             {"e", same.SerializeAsString()},
             {"f", gray.SerializeAsString()}});
  const RecordStats stats = stats_of(folder / "db");
  EXPECT_EQ(stats.not_finite.count, 1);
  EXPECT_EQ(stats.not_finite.first, folder / "db: record \"d\"");
  EXPECT_EQ(stats.one_value.count, 1);
  EXPECT_EQ(stats.one_value.first, folder / "db: record \"c\"");
  EXPECT_EQ(stats.gray_in_colour.count, 3);
  EXPECT_EQ(stats.gray_in_colour.first, folder / "db: record \"b\"");
  EXPECT_EQ(stats.duplicates, 2);
  EXPECT_EQ(stats.contradictions, 1);
  EXPECT_EQ(stats.first_duplicate, std::pair(std::int64_t{1}, std::int64_t{4}));
  EXPECT_EQ(stats.channels[0].count, 11);  // without the one that is no number
  EXPECT_EQ(stats.channels[1].max, 99);
}

TEST(RecordStats, ASampleIsSpreadEvenly) {
  const TemporaryFolder folder;
  testing::Records records;
  for (int i = 0; i < 100; ++i) {
    records.emplace_back(fmt::format("{:04}", i), byte_datum(1, 1, 1, i, i).SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  RecordStatsOptions options;
  options.sample = 10;
  const RecordStats stats = stats_of(folder / "db", options);
  EXPECT_EQ(stats.decoded, 10);
  EXPECT_EQ(stats.records, 100);
  EXPECT_EQ(stats.labels[0].histogram.size(), 100u);
  EXPECT_EQ(stats.shapes.at(Shape{1, 1, 1}).count, 100);
  EXPECT_EQ(stats.channels[0].min, 0);
  EXPECT_EQ(stats.channels[0].max, 90);
  EXPECT_EQ(stats.channels[0].mean, 45);
  options.sample = 1000;
  EXPECT_EQ(stats_of(folder / "db", options).decoded, 100);
}

TEST(RecordStats, ASourceThatBreaksOff) {
  const TemporaryFolder folder;
  const std::vector<float> values(20, 1);
  Hdf5Writer writer(folder / "a.h5");
  writer.append("data", Shape{20, 1}, values.data());
  writer.finish();
  testing::write_file(folder / "list", folder / "a.h5 " + folder / "a.h5");
  const auto stream = open_records(folder / "list");
  RecordStatsOptions options;
  testing::write_file(folder / "b", testing::contents_of(folder / "a.h5"));
  ::unlink((folder / "a.h5").c_str());
  const RecordStats stats = measure_records(stream.get(), options);
  EXPECT_EQ(stats.records, 0);
  EXPECT_EQ(stats.ended, "HDF5 file " + folder / "a.h5 does not exist");
  // Only the caller's own errors come out.
  testing::write_file(folder / "a.h5", testing::contents_of(folder / "b"));
  options.progress = [](std::int64_t) { fail("stopped"); };
  EXPECT_EQ(error_of([&] { measure_records(stream.get(), options); }), "stopped");
}

}  // namespace
}  // namespace crema
