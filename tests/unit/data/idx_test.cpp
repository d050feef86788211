#include "data/idx.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <set>

#include "data/convert_idx.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::contents_of;
using testing::error_of;
using testing::TemporaryFolder;
using testing::write_file;

constexpr auto kLmdb = caffe::DataParameter::LMDB;

std::string idx(const std::vector<int>& dims, const std::string& bytes, char type = 8) {
  std::string text{0, 0, type, static_cast<char>(dims.size())};
  for (const int dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(dim >> shift));
  }
  return text + bytes;
}

void write_gz(const std::string& path, const std::string& contents) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, contents.data(), static_cast<unsigned>(contents.size()));
  gzclose(file);
}

TEST(Idx, PlainAndCompressed) {
  const TemporaryFolder folder;
  const std::string contents = idx({2, 1, 3}, "abcdef");
  write_file(folder / "plain", contents);
  write_gz(folder / "packed.gz", contents);
  for (const char* name : {"plain", "packed.gz"}) {
    const IdxArray array = read_idx(folder / name);
    EXPECT_EQ(array.shape, (Shape{2, 1, 3}));
    EXPECT_EQ(array.bytes, "abcdef");
  }
}

TEST(Idx, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string file = folder / "file";
  const auto failure = [&](const std::string& contents) {
    write_file(file, contents);
    return error_of([&] { read_idx(file); });
  };
  EXPECT_EQ(error_of([&] { read_idx(folder / "no"); }),
            "cannot open " + folder / "no" + ": No such file or directory");
  EXPECT_EQ(failure("ab"), file + " is not an IDX file: it has only 2 bytes");
  EXPECT_EQ(failure("PNG and so on"), file + " is not an IDX file: it begins with 504e4720");
  EXPECT_EQ(failure(idx({2}, "", 0x0d)),
            file + " is an IDX file of type 0x0d; only unsigned bytes (0x08) are read");
  EXPECT_EQ(failure(idx({2, 2}, "").substr(0, 9)),
            file + " is truncated: it has 9 of 12 bytes of header");
  EXPECT_EQ(failure(idx({2, 2}, "abc")),
            file + " is truncated: 2x2 needs 4 bytes of data, found 3");
  EXPECT_EQ(failure(idx({0x7fffffff, 0x7fffffff}, "abc")),
            file +
                " is truncated: 2147483647x2147483647 needs 4611686014132420609 bytes of data, "
                "found 3");
  EXPECT_EQ(failure(idx({2, 2}, "abcde")),
            file + " goes on after the 4 bytes of data that 2x2 needs");

  std::string noise;
  for (int i = 0; i < 5000; ++i) noise.push_back(static_cast<char>(i * i * 31 >> 3));
  write_gz(file, idx({5000}, noise));
  const std::string packed = contents_of(file);
  EXPECT_THAT(failure(packed.substr(0, packed.size() / 2)),
              ::testing::MatchesRegex(".* is truncated: 5000 needs 5000 bytes of data, found .*"));
  std::string broken = packed;
  broken[broken.size() / 2] = static_cast<char>(~broken[broken.size() / 2]);
  EXPECT_NE(failure(broken), "");
}

TEST(ConvertIdx, WritesCaffesRecords) {
  const TemporaryFolder folder;
  write_file(folder / "images", idx({3, 1, 2}, "abcdef"));
  write_file(folder / "labels", idx({3}, std::string("\x01\xff\x00", 3)));
  std::vector<std::int64_t> progress;
  EXPECT_EQ(convert_idx(folder / "images", folder / "labels", folder / "db", kLmdb,
                        [&](std::int64_t done, std::int64_t) { progress.push_back(done); }),
            3);
  EXPECT_THAT(progress, ::testing::ElementsAre(1, 2, 3));
  LmdbReader reader(folder / "db");
  ASSERT_TRUE(reader.next() && reader.next());
  EXPECT_EQ(reader.key(), "00000001");
  // channels 1, height 1, width 2, data "cd", label 255
  EXPECT_EQ(reader.value(), std::string("\x08\x01\x10\x01\x18\x02\x22\x02"
                                        "cd\x28\xff\x01"));
  EXPECT_EQ(reader.records(), 3);
}

TEST(ConvertIdx, PairsAreOfOneClassOrNot) {
  const TemporaryFolder folder;
  std::string pixels;
  for (int i = 0; i < 200; ++i) pixels += {static_cast<char>(i), static_cast<char>(i % 3)};
  std::string classes;
  for (int i = 0; i < 200; ++i) classes.push_back(static_cast<char>(i % 3));
  write_file(folder / "images", idx({200, 1, 2}, pixels));
  write_file(folder / "labels", idx({200}, classes));
  const auto pairs = [&](const std::string& db, std::uint64_t seed) {
    EXPECT_EQ(convert_idx_pairs(folder / "images", folder / "labels", folder / db, kLmdb, seed),
              200);
    std::vector<caffe::Datum> data;
    LmdbReader reader(folder / db);
    while (reader.next()) {
      data.emplace_back();
      EXPECT_TRUE(data.back().ParseFromString(std::string(reader.value())));
      if (data.size() == 200) break;
    }
    return data;
  };
  const std::vector<caffe::Datum> data = pairs("db", 1);
  int same = 0;
  std::set<char> firsts;
  for (const caffe::Datum& pair : data) {
    EXPECT_EQ(pair.channels(), 2);
    ASSERT_EQ(pair.data().size(), 4u);
    // The second pixel of each picture is its class.
    EXPECT_EQ(pair.label(0), pair.data()[1] == pair.data()[3]);
    same += pair.label(0);
    firsts.insert(pair.data()[0]);
  }
  EXPECT_NEAR(same, 200 / 3, 25);
  EXPECT_GT(firsts.size(), 100u);  // 126 of 200 are expected
  EXPECT_EQ(pairs("again", 1)[7].data(), data[7].data());
  const std::vector<caffe::Datum> others = pairs("others", 2);
  EXPECT_FALSE(std::equal(data.begin(), data.end(), others.begin(),
                          [](const auto& a, const auto& b) { return a.data() == b.data(); }));
}

TEST(ConvertIdx, ChecksThatFilesFitTogether) {
  const TemporaryFolder folder;
  const std::string images = folder / "images", labels = folder / "labels", db = folder / "db";
  write_file(images, idx({3, 1, 2}, "abcdef"));
  write_file(labels, idx({2}, "ab"));
  EXPECT_EQ(error_of([&] { convert_idx(images, labels, db, kLmdb); }),
            "3 images in " + images + ", but 2 labels in " + labels);
  EXPECT_EQ(
      error_of([&] { convert_idx(labels, images, db, kLmdb); }),
      labels + " holds 2, not images (number x height x width); are images and labels swapped?");
  EXPECT_EQ(error_of([&] { convert_idx(images, images, db, kLmdb); }),
            images + " holds 3x1x2, not a list of labels");
  EXPECT_FALSE(boost::filesystem::exists(db));
  boost::filesystem::create_directory(db);
  EXPECT_EQ(error_of([&] { convert_idx(folder / "no", labels, db, kLmdb); }),
            db + " exists already; remove it first, or choose another name");
}

}  // namespace
}  // namespace crema
