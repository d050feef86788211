// Records written as picture files, and read again.
#include "data/export_records.h"

#include <gmock/gmock.h>

#include <limits>

#include "data/convert_images.h"
#include "data/database.h"
#include "data/hdf5_writer.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::contents_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_lmdb;
using testing::noise;
using testing::TemporaryFolder;
using testing::write_file;

class Export : public ::testing::Test {
 protected:
  Export() : there_(folder_.path()) {}

  static ExportResult run(const std::string& source, const std::string& folder,
                          const ExportOptions& options = {}) {
    return export_records(open_records(source).get(), folder, options);
  }
  static std::string run_error(const std::string& source, const std::string& folder,
                               const ExportOptions& options = {}) {
    return error_of([&] { run(source, folder, options); });
  }
  static std::vector<std::string> values_of(const std::string& db) {
    LmdbReader reader(db);
    std::vector<std::string> values;
    while (reader.next()) values.emplace_back(reader.value());
    return values;
  }
  static Image picture(const std::string& path) {
    Image image;
    read_image(path, Decode::kAsIs, &image);
    return image;
  }
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : boost::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
};

TEST_F(Export, ConvertImagesetMakesTheSameRecordsAgain) {
  boost::filesystem::create_directories("in/x");
  std::string list;
  for (unsigned i = 0; i < 150; ++i) {
    const std::string name = fmt::format("x/a {}.{}", i, i % 2 ? "jpg" : "png");
    write_file("in/" + name, encode_image(noise(3, 8, 9, i), i % 2 ? "jpg" : "png"));
    list += fmt::format("{} {}\n", name, i == 3 ? 16777217 : static_cast<int>(i % 7) - 1);
  }
  write_file("list", list);
  for (const bool encoded : {false, true}) {
    ConvertImagesOptions converting;
    converting.encoded = encoded;
    const std::string db = encoded ? "encoded" : "raw";
    convert_images("in/", "list", db, converting);
    for (const int threads : {1, 4}) {
      ExportOptions options;
      options.threads = threads;
      const std::string out = fmt::format("{}-{}", db, threads);
      const ExportResult result = run(db, out, options);
      EXPECT_EQ(result.records, 150);
      EXPECT_EQ(result.files, 150);
      EXPECT_EQ(result.scaled, 0);
      convert_images(out + "/", out + "/list.txt", out + "-db", converting);
      EXPECT_EQ(values_of(out + "-db"), values_of(db));
    }
    EXPECT_EQ(contents_of(db + "-1/list.txt"), contents_of(db + "-4/list.txt"));
    EXPECT_EQ(contents_of(db + "-1/list.txt").substr(0, 55),
              encoded ? "00000000_x_a 0.png -1\n00000001_x_a 1.jpg 0\n00000002_x_a"
                      : "00000000_x_a 0.png -1\n00000001_x_a 1.png 0\n00000002_x_a");
  }
}

TEST_F(Export, NamesCannotLeaveTheFolder) {
  EXPECT_EQ(file_name_of("../../etc/passwd"), "_._.._etc_passwd");
  EXPECT_EQ(file_name_of("/a\\b\n"), "_a_b_");
  EXPECT_EQ(file_name_of(".."), "_.");
  EXPECT_EQ(file_name_of(".hidden"), "_hidden");
  EXPECT_EQ(file_name_of("-rf"), "_rf");
  EXPECT_EQ(file_name_of(" a "), "_a_");
  EXPECT_EQ(file_name_of(""), "_");
  EXPECT_EQ(file_name_of("Köln 1"), "Köln 1");
  EXPECT_EQ(file_name_of(std::string("a\0b", 3)), "a_b");
  EXPECT_EQ(file_name_of(std::string(500, 'x')).size(), 200u);

  const std::string value = byte_datum(1, 2, 2, 0, 1).SerializeAsString();
  make_lmdb("db", {{"../a.png", value}, {".._a.jpg", value}, {"_._a", value}, {"b.txt", value}});
  EXPECT_EQ(run("db", "out").files, 4);
  EXPECT_THAT(files_in("out"),
              ElementsAre("_._a-2.png", "_._a-3.png", "_._a.png", "b.txt.png", "list.txt"));
}

TEST_F(Export, PartsOfASource) {
  testing::Records records;
  for (int i = 0; i < 200; ++i) {
    records.emplace_back(fmt::format("{:03}", i),
                         byte_datum(1, 1, 1, i, i % 4).SerializeAsString());
  }
  make_lmdb("db", records);
  ExportOptions options;
  options.from = 198;
  run("db", "end", options);
  EXPECT_EQ(contents_of("end/list.txt"), "198.png 2\n199.png 3\n");
  options.from = 5;
  options.count = 2;
  run("db", "middle", options);
  EXPECT_EQ(contents_of("middle/list.txt"), "005.png 1\n006.png 2\n");
  options.label = 3.0f;
  run("db", "label", options);
  EXPECT_EQ(contents_of("label/list.txt"), "007.png 3\n011.png 3\n");
  options.label = 4.0f;
  EXPECT_EQ(run_error("db", "none", options),
            "db has no record of label 4 to write from number 5 on");
  options.from = 201;
  EXPECT_EQ(run_error("db", "beyond", options),
            "db has only 200 records, number 201 is none of them (they count from 0)");
}

TEST_F(Export, PicturesThatCannotBeReadAreNotWritten) {
  const std::string file = encode_image(noise(3, 4, 5, 1), "png");
  caffe::Datum datum;
  datum.set_encoded(true);
  datum.set_data(file);
  const std::string good = datum.SerializeAsString();
  datum.set_data(file.substr(0, 60));
  make_lmdb("db", {{"0", good}, {"1", datum.SerializeAsString()}});
  EXPECT_THAT(run_error("db", "out", {}), HasSubstr("record \"1\": the 60 bytes begin like a PNG"));
  ExportOptions options;
  options.skip_bad_records = true;
  EXPECT_EQ(run("db", "others", options).files, 1);
  EXPECT_EQ(contents_of("others/0.png"), file);
}

TEST_F(Export, ValuesThatAreNoBytesAreScaled) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{-1, 0, 1, 3, 5, 5, nan, 5};
  Hdf5Writer writer("a.h5");
  writer.append("data", Shape{2, 1, 2, 2}, values.data());
  writer.finish();
  const ExportResult result = run("a.h5", "out");
  EXPECT_EQ(result.scaled, 2);
  EXPECT_EQ(result.min, -1);
  EXPECT_EQ(result.max, 5);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_TRUE(result.without_labels);
  EXPECT_EQ(contents_of("out/list.txt"), "00000000.png 0\n00000001.png 0\n");
  EXPECT_THAT(picture("out/00000000.png").bytes, ElementsAre(0, 64, 128, 255));
  EXPECT_THAT(picture("out/00000001.png").bytes, ElementsAre(0, 0, 0, 0));

  // Bytes stored as floats are taken as they are, and labels that are not whole stay.
  const std::vector<float> bytes{0, 7, 200, 255}, labels{0.25f, -3};
  Hdf5Writer other("b.h5");
  other.append("data", Shape{1, 1, 2, 2}, bytes.data());
  other.append("label", Shape{1, 2}, labels.data());
  other.finish();
  EXPECT_EQ(run("b.h5", "exact").scaled, 0);
  EXPECT_THAT(picture("exact/00000000.png").bytes, ElementsAre(0, 7, 200, 255));
  EXPECT_EQ(contents_of("exact/list.txt"), "00000000.png 0.25 -3\n");
}

TEST_F(Export, ChannelsAndFormats) {
  make_lmdb("db", {{"a", byte_datum(2, 2, 2, 0, 5).SerializeAsString()}});
  EXPECT_EQ(run("db", "two").files, 2);
  EXPECT_EQ(contents_of("two/list.txt"), "a-0.png 5\na-1.png 5\n");
  EXPECT_THAT(picture("two/a-1.png").bytes, ElementsAre(4, 5, 6, 7));

  const Image image = noise(3, 8, 9, 1);
  caffe::Datum encoded;
  encoded.set_encoded(true);
  encoded.set_data(encode_image(image, "png"));
  make_lmdb("encoded", {{"a.jpg", encoded.SerializeAsString()}});
  run("encoded", "as-it-is");
  EXPECT_EQ(contents_of("as-it-is/a.png"), encoded.data());
  ExportOptions options;
  options.format = "ppm";
  run("encoded", "ppm", options);
  EXPECT_EQ(picture("ppm/a.ppm").bytes, image.bytes);
  options.format = "exe";
  EXPECT_EQ(run_error("encoded", "none", options),
            "\"exe\" is no format for images; png, jpg and ppm are");

  const std::vector<float> values(6, 1);
  Hdf5Writer writer("flat.h5");
  writer.append("data", Shape{2, 3}, values.data());
  writer.finish();
  EXPECT_EQ(run_error("flat.h5", "flat"),
            "flat.h5: row 0: a record of 3 is no picture, which has channels, height and width");
}

TEST_F(Export, NothingIsOverwrittenAndWhatWasWrittenStays) {
  testing::Records records;
  for (int i = 0; i < 5; ++i) {
    records.emplace_back(fmt::format("{}", i),
                         i == 2 ? "broken" : byte_datum(1, 2, 2, i, i).SerializeAsString());
  }
  make_lmdb("db", records);
  EXPECT_EQ(run_error("db", "out"),
            "db: record \"2\" is not a Datum: its 6 bytes cannot be parsed (the 4 files written "
            "so far stay in out)");
  EXPECT_EQ(files_in("out").size(), 5u);
  EXPECT_EQ(run_error("db", "out"),
            "out is not empty; choose a new folder, so that nothing in it is overwritten");
  EXPECT_EQ(run_error("db", "db/data.mdb"), "db/data.mdb exists and is no folder");
  ExportOptions options;
  options.skip_bad_records = true;
  const ExportResult result = run("db", "good", options);
  EXPECT_EQ(result.records, 4);
  ASSERT_EQ(result.skipped.size(), 1u);
  EXPECT_EQ(result.skipped[0].index, 2);
}

}  // namespace
}  // namespace crema
