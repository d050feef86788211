// Sources of every form, recognised by what they hold.
#include "data/record_stream.h"

#include <gmock/gmock.h>

#include "data/database.h"
#include "data/hdf5_writer.h"
#include "data/record_blocks.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_lmdb;
using testing::noise;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_png;

struct Seen {
  std::string key, encoding;
  Shape shape;
  std::vector<float> labels, values;
};

/// All records, decoded.
std::vector<Seen> all_of(RecordStream* stream) {
  std::vector<Seen> all;
  PackedRecord packed;
  Record record;
  while (stream->next(&packed)) {
    stream->unpack(packed, &record);
    stream->decode(packed, &record);
    EXPECT_EQ(record.index, static_cast<std::int64_t>(all.size()));
    Seen seen{record.key, record.encoding, record.shape, record.labels, {}};
    for (std::int64_t i = 0; i < record.image.shape().count(); ++i) {
      seen.values.push_back(record.image.bytes ? record.image.bytes[i] : record.image.floats[i]);
    }
    all.push_back(std::move(seen));
  }
  return all;
}

class RecordStreamTest : public ::testing::Test {
 protected:
  RecordStreamTest() : there_(folder_.path()) {}

  static std::string open_error(const std::string& path, const RecordStreamOptions& options = {}) {
    return error_of([&] { open_records(path, options); });
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
};

TEST_F(RecordStreamTest, DataBases) {
  caffe::Datum floats = byte_datum(1, 1, 2, 0, 0);
  floats.clear_data();
  floats.add_float_data(0.5f);
  floats.add_float_data(-1);
  floats.add_label(7);
  caffe::Datum encoded;
  const Image image = noise(3, 2, 2, 1);
  encoded.set_encoded(true);
  encoded.set_data(encode_image(image, "png"));
  encoded.add_float_label(0.25f);
  const testing::Records records{{"a", byte_datum(1, 1, 2, 10, 3).SerializeAsString()},
                                 {"b", floats.SerializeAsString()},
                                 {"c", encoded.SerializeAsString()}};
  make_lmdb("db", records);
  for (const char* path : {"db", "db/data.mdb"}) {
    const auto stream = open_records(path);
    EXPECT_EQ(stream->kind(), RecordStream::Kind::kLmdb);
    EXPECT_EQ(stream->kind_name(), "LMDB");
    EXPECT_EQ(stream->total(), 3);
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<Seen> seen = all_of(stream.get());
      ASSERT_EQ(seen.size(), 3u);
      EXPECT_EQ(seen[0].key, "a");
      EXPECT_EQ(seen[0].encoding, "bytes");
      EXPECT_EQ(seen[0].shape, (Shape{1, 1, 2}));
      EXPECT_THAT(seen[0].labels, ElementsAre(3));
      EXPECT_THAT(seen[0].values, ElementsAre(10, 11));
      EXPECT_EQ(seen[1].encoding, "float_data");
      EXPECT_THAT(seen[1].labels, ElementsAre(0, 7));
      EXPECT_THAT(seen[1].values, ElementsAre(0.5, -1));
      EXPECT_EQ(seen[2].encoding, "PNG");
      EXPECT_EQ(seen[2].shape, (Shape{3, 2, 2}));
      EXPECT_THAT(seen[2].labels, ElementsAre(0.25));
      EXPECT_EQ(seen[2].values, std::vector<float>(image.bytes.begin(), image.bytes.end()));
      stream->rewind();
    }
  }
  if (const auto leveldb = caffe::DataParameter::LEVELDB; true) {
#ifdef CREMA_LEVELDB
    const auto writer = create_database("level", leveldb);
    for (const auto& [key, value] : records) writer->put(key, value);
    writer->finish();
    const auto stream = open_records("level");
    EXPECT_EQ(stream->kind_name(), "LevelDB");
    EXPECT_EQ(stream->total(), std::nullopt);
    EXPECT_EQ(all_of(stream.get()).size(), 3u);
#endif
    RecordStreamOptions options;
    options.backend = leveldb;
    EXPECT_THAT(open_error("db", options), HasSubstr("db is an LMDB, not a LevelDB"));
  }
}

TEST_F(RecordStreamTest, ListsAndFoldersOfImages) {
  const Image one = noise(3, 4, 5, 1), two = noise(1, 4, 5, 2);
  boost::filesystem::create_directories("images/x");
  boost::filesystem::create_directories("images/y y");
  write_png("images/x/1.png", one);
  write_file("images/y y/2.jpg", encode_image(two, "png"));
  write_file("list.txt", "x/1.png 7 0.5\r\ny y/2.jpg -1 2\r\n");
  RecordStreamOptions options;
  options.root = "images/";
  options.label_count = 2;
  auto stream = open_records("list.txt", options);
  EXPECT_EQ(stream->kind_name(), "list of images");
  EXPECT_EQ(stream->total(), 2);
  std::vector<Seen> seen = all_of(stream.get());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[0].labels, ElementsAre(7, 0.5));
  EXPECT_EQ(seen[0].values, std::vector<float>(one.bytes.begin(), one.bytes.end()));
  EXPECT_EQ(seen[1].key, "y y/2.jpg");
  EXPECT_EQ(seen[1].encoding, "PNG");  // whatever its name says
  EXPECT_EQ(seen[1].shape, (Shape{3, 4, 5}));

  options = {};
  options.gray = true;
  options.resize_height = options.resize_width = 2;
  stream = open_records("images", options);
  EXPECT_EQ(stream->kind(), RecordStream::Kind::kImageFolder);
  EXPECT_THAT(stream->classes(), ElementsAre("x", "y y"));
  seen = all_of(stream.get());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].key, "y y/2.jpg");
  EXPECT_THAT(seen[1].labels, ElementsAre(1));
  EXPECT_EQ(seen[1].shape, (Shape{1, 2, 2}));

  write_file("images/x/1.png", "not this");
  ::unlink("images/y y/2.jpg");
  PackedRecord packed;
  Record record;
  options = {};
  options.root = "images/";
  options.label_count = 2;
  stream = open_records("list.txt", options);
  ASSERT_TRUE(stream->next(&packed));
  stream->unpack(packed, &record);
  EXPECT_THAT(error_of([&] { stream->decode(packed, &record); }),
              HasSubstr("list.txt:1: x/1.png: the 8 bytes cannot be decoded"));
  ASSERT_TRUE(stream->next(&packed));
  EXPECT_EQ(error_of([&] { stream->unpack(packed, &record); }),
            "list.txt:2: cannot open images/y y/2.jpg: No such file or directory");
  options.label_count = 1;
  stream = open_records("list.txt", options);
  ASSERT_TRUE(stream->next(&packed));
  EXPECT_EQ(error_of([&] { stream->unpack(packed, &record); }),
            "list.txt:1: cannot open images/x/1.png 7: No such file or directory; if \"7\" is a "
            "label, label_count has to say how many a line has");
}

TEST_F(RecordStreamTest, Hdf5FilesAndLists) {
  const auto write = [](const char* path, int rows, float first) {
    std::vector<float> data, labels;
    for (int i = 0; i < rows * 6; ++i) data.push_back(first + static_cast<float>(i));
    for (int i = 0; i < rows * 2; ++i) labels.push_back(static_cast<float>(i) / 2);
    Hdf5Writer writer(path);
    writer.append("data", Shape{rows, 1, 2, 3}, data.data());
    writer.append("label", Shape{rows, 2}, labels.data());
    writer.append("flat", Shape{rows, 6}, data.data());
    writer.finish();
  };
  write("a.h5", 2, 0);
  write("b", 3, 100);
  auto stream = open_records("a.h5");
  EXPECT_EQ(stream->kind_name(), "HDF5 file");
  EXPECT_EQ(stream->total(), 2);
  EXPECT_THAT(stream->notes(),
              ElementsAre("a.h5 holds data (32-bit float, 2x1x2x3), flat (32-bit float, 2x6), "
                          "label (32-bit float, 2x2)"));
  std::vector<Seen> seen = all_of(stream.get());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].key, "00000001");
  EXPECT_EQ(seen[1].encoding, "32-bit float");
  EXPECT_EQ(seen[1].shape, (Shape{1, 2, 3}));
  EXPECT_THAT(seen[1].labels, ElementsAre(1, 1.5));
  EXPECT_THAT(seen[1].values, ElementsAre(6, 7, 8, 9, 10, 11));

  write_file("list.txt", "b\na.h5\n");
  stream = open_records("list.txt");
  EXPECT_EQ(stream->kind_name(), "list of HDF5 files");
  EXPECT_EQ(stream->total(), 5);
  seen = all_of(stream.get());
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[2].values[0], 112);
  EXPECT_EQ(seen[4].values[0], 6);
  stream->rewind();
  EXPECT_EQ(all_of(stream.get()).size(), 5u);
  PackedRecord packed;
  packed.index = 3;
  EXPECT_EQ(stream->where(packed), "a.h5: row 0");
  packed.index = 2;
  EXPECT_EQ(stream->where(packed), "b: row 2");

  RecordStreamOptions options;
  options.dataset = "flat";
  options.label_dataset = "none";
  stream = open_records("a.h5", options);
  seen = all_of(stream.get());
  EXPECT_EQ(seen[0].shape, (Shape{6}));
  EXPECT_TRUE(seen[0].labels.empty());
  EXPECT_THAT(stream->notes()[1], "there are no labels: no dataset \"none\"");
  options.dataset = "pixels";
  EXPECT_EQ(open_error("a.h5", options),
            "a.h5 has no dataset \"pixels\"; it holds data (32-bit float, 2x1x2x3), flat (32-bit "
            "float, 2x6), label (32-bit float, 2x2)");
}

TEST_F(RecordStreamTest, HeadersOfHdf5AreNotTrusted) {
  // The form in which the header says where the values lie: of version 2 it says that there are
  // none.
  std::string bytes =
      testing::contents_of(std::string(CREMA_TEST_DATA) + "/conformance/solvers/adam/data.h5");
  ASSERT_EQ(bytes.at(952), 3);
  bytes[952] = 2;
  write_file("a.h5", bytes);
  EXPECT_EQ(open_error("a.h5"),
            "dataset \"data\" in a.h5: damaged: 40x1x8x8 needs 10240 bytes, but 0 are there");
}

TEST_F(RecordStreamTest, SaysWhatElseThereIs) {
  const std::string here = folder_.path();
  EXPECT_EQ(open_error(""), "the path of the source is empty");
  EXPECT_EQ(open_error("no/db"), "no/db does not exist (in " + here + ")");
  EXPECT_EQ(open_error("/no/db"), "/no/db does not exist");
  EXPECT_EQ(open_error("tmp"), "tmp does not exist (in " + here + "); did you mean \"/tmp\"?");
  boost::filesystem::create_symlink("gone", "link");
  EXPECT_EQ(open_error("link"), "link is a symbolic link to gone, which does not exist");
  EXPECT_EQ(open_error("/dev/null"), "/dev/null is neither a file nor a folder");
  boost::filesystem::create_directory("folder");
  EXPECT_EQ(open_error("folder"),
            "folder is no LMDB (no data.mdb in it) and no LevelDB (no CURRENT): folder folder "
            "holds nothing, but no sub-folders; each class needs one with its images");
  const auto error_for = [&](const std::string& contents) {
    write_file("file", contents);
    return open_error("file");
  };
  EXPECT_EQ(error_for(""), "file is no source of data: it is empty");
  EXPECT_EQ(error_for(" \n"), "file is empty: it holds nothing but blanks");
  EXPECT_EQ(error_for(std::string("\0\0\x08\x03\0\0\0\x01", 8)),
            "file is an IDX file; convert-idx makes an LMDB of it and its labels");
  EXPECT_EQ(error_for("\x1f\x8b and so on"),
            "file is no source of data: it is compressed with gzip (unpack it first)");
  EXPECT_EQ(error_for(encode_image(noise(3, 2, 2, 1), "png")),
            "file is a single image; a source is a data base, an HDF5 file, a list of images or a "
            "folder with a sub-folder of images for each class");
  EXPECT_EQ(error_for("name: \"net\"\nlayer {\n"), "file is a prototxt, not a source of data");
  EXPECT_EQ(error_for("layer { name: \"a\" }"), "file is a prototxt, not a source of data");
  EXPECT_THAT(error_for("# 0\na.png\n"), HasSubstr("file is a window file; "));
  EXPECT_EQ(error_for("a.png 1\nb.png"), "file:2: \"b.png\" has no label; a line is NAME LABEL");
  EXPECT_THAT(error_for(std::string("\x0a\x04\x00\x01\x02\x03", 6)),
              HasSubstr("file is no source of data: it is "));
}

// Blocks.

/// The keys of a block.
struct Keys : BlockResult {
  std::string keys;
};

TEST_F(RecordStreamTest, BlocksAreJoinedInOrderWhateverTheThreads) {
  testing::Records records;
  std::string expected, expected_broken;
  for (int i = 0; i < 300; ++i) {
    const bool broken = i % 37 == 5;
    records.emplace_back(fmt::format("{:03}", i),
                         broken ? "x" : byte_datum(1, 1, 1, i, 0).SerializeAsString());
    (broken ? expected_broken : expected) += records.back().first + " ";
  }
  make_lmdb("db", records);
  const auto stream = open_records("db");
  for (const int threads : {1, 2, 7}) {
    std::string keys, broken;
    BlockWork work;
    work.begin = [] { return std::make_unique<Keys>(); };
    work.visit = [](const PackedRecord&, Record* record, BlockResult* block) {
      static_cast<Keys*>(block)->keys += record->key + " ";
    };
    work.join = [&](std::unique_ptr<BlockResult> block) {
      keys += static_cast<Keys&>(*block).keys;
      for (const BrokenRecord& one : block->broken) broken += fmt::format("{:03} ", one.index);
    };
    BlockOptions options;
    options.threads = threads;
    options.records = 7;
    stream->rewind();
    EXPECT_EQ(for_each_block(stream.get(), options, work), 300);
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(broken, expected_broken);
    keys.clear();
    options.limit = 10;
    stream->rewind();
    EXPECT_EQ(for_each_block(stream.get(), options, work), 10);
    EXPECT_EQ(keys, expected.substr(0, 4 * 9));  // one of them is broken

    options.limit = -1;
    options.progress = [](std::int64_t done) { require(done < 100, "stopped after {}", done); };
    stream->rewind();
    EXPECT_EQ(error_of([&] { for_each_block(stream.get(), options, work); }), "stopped after 105");
  }
}

TEST_F(RecordStreamTest, WhatEndsAStreamComesOutBehindWhatWasReadBefore) {
  std::vector<float> values(20, 1);
  Hdf5Writer writer("a.h5");
  writer.append("data", Shape{20, 1}, values.data());
  writer.finish();
  write_file("list", "a.h5 a.h5");
  const auto stream = open_records("list");
  // The second file is opened again when its turn comes.
  PackedRecord packed;
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(stream->next(&packed));
  std::int64_t joined = 0;
  BlockWork work;
  work.begin = [] { return std::make_unique<BlockResult>(); };
  work.visit = [](const PackedRecord&, Record*, BlockResult*) {};
  work.join = [&](std::unique_ptr<BlockResult> block) { joined += block->records; };
  ::unlink("a.h5");
  const std::string error = error_of([&] { for_each_block(stream.get(), {.records = 2}, work); });
  EXPECT_THAT(error, HasSubstr("HDF5 file a.h5 does not exist"));
  EXPECT_EQ(joined, 5);
}

}  // namespace
}  // namespace crema
