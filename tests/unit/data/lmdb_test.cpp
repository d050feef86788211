#include "data/lmdb.h"

#include <gmock/gmock.h>
#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <random>

#include "fixtures.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using testing::contents_of;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_lmdb;
using testing::Records;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::WorkingFolder;
using testing::write_file;

Records all_of(LmdbReader* reader) {
  Records records;
  while (reader->next()) records.emplace_back(reader->key(), reader->value());
  return records;
}

std::string open_error(const std::string& path) {
  return error_of([&] { LmdbReader reader(path); });
}

/// The library itself, on an environment for writing.
class Library {
 public:
  explicit Library(const std::string& path, unsigned flags = 0) {
    fs::create_directories(path);
    mdb_env_create(&env_);
    mdb_env_set_mapsize(env_, std::size_t{256} << 20);
    mdb_env_set_maxdbs(env_, 4);
    EXPECT_EQ(mdb_env_open(env_, path.c_str(), MDB_NOSYNC | flags, 0644), 0);
  }
  ~Library() { mdb_env_close(env_); }

  template <class Body>
  void write(const Body& body, const char* name = nullptr, unsigned flags = 0) {
    MDB_txn* txn;
    MDB_dbi dbi;
    ASSERT_EQ(mdb_txn_begin(env_, nullptr, 0, &txn), 0);
    ASSERT_EQ(mdb_dbi_open(txn, name, flags, &dbi), 0);
    body(
        [&](std::string key, std::string value) {
          MDB_val k{key.size(), key.data()}, v{value.size(), value.data()};
          ASSERT_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
        },
        [&](std::string key) {
          MDB_val k{key.size(), key.data()};
          ASSERT_EQ(mdb_del(txn, dbi, &k, nullptr), 0);
        });
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }

 private:
  MDB_env* env_ = nullptr;
};

TEST(LmdbReader, ReadsInKeyOrderAndStartsAgain) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"b", "2"}, {"a", "1"}, {"c", std::string(20000, 'x')}, {"B", ""}});
  LmdbReader reader(folder / "db");
  EXPECT_EQ(reader.records(), 4);
  const Records expected{{"B", ""}, {"a", "1"}, {"b", "2"}, {"c", std::string(20000, 'x')}};
  EXPECT_EQ(all_of(&reader), expected);
  EXPECT_EQ(all_of(&reader), expected);
  ASSERT_TRUE(reader.next());
  reader.rewind();
  reader.skip(3);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.key(), "c");
}

TEST(LmdbReader, AcceptsTheDataFileAndLinksAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"a", "1"}});
  fs::create_symlink(folder / "db", folder / "link");
  fs::create_directory(folder / "single");
  fs::copy_file(folder / "db/data.mdb", folder / "single/data.mdb");
  for (const char* path : {"db", "db/", "db/data.mdb", "link", "single"}) {
    LmdbReader reader(folder / path);
    EXPECT_EQ(all_of(&reader), (Records{{"a", "1"}})) << path;
  }
  for (const char* path : {"db", "single"}) {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / path), fs::directory_iterator()), 1);
  }
}

TEST(LmdbReader, ReadsWithoutWritePermission) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"a", "1"}});
  ::chmod((folder / "db/data.mdb").c_str(), 0444);
  ::chmod((folder / "db").c_str(), 0555);
  LmdbReader reader(folder / "db");
  EXPECT_EQ(all_of(&reader), (Records{{"a", "1"}}));
  ::chmod((folder / "db").c_str(), 0755);
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to all; the rest is not meaningful";
  ::chmod((folder / "db/data.mdb").c_str(), 0);
  EXPECT_THAT(open_error(folder / "db"), HasSubstr("Permission denied"));
}

// The library is the judge of what a data base holds, whatever has been done to it.
TEST(LmdbReader, AgreesWithTheLibrary) {
  std::mt19937 random(1);
  for (const int round : {0, 1, 2, 3}) {
    const TemporaryFolder folder;
    std::map<std::string, std::string> expected;
    {
      Library library(folder / "db");
      for (int commit = 0; commit < 4; ++commit) {
        library.write([&](const auto& put, const auto& remove) {
          for (int i = 0; i < 3000; ++i) {
            // Long keys make a deep tree, long values overflow pages.
            std::string key = std::to_string(random());
            if (round == 1) key.resize(400, '_');
            const std::string value(random() % 50 == 0 ? random() % 30000 : random() % 100,
                                    static_cast<char>('a' + i % 26));
            put(key, value);
            expected[key] = value;
          }
          while (round >= 2 && expected.size() > 500) {
            remove(expected.begin()->first);
            expected.erase(expected.begin());
          }
          if (round == 3) {
            for (auto& [key, value] : expected) put(key, value = "again" + value);
          }
        });
      }
    }
    LmdbReader reader(folder / "db");
    const Records records(expected.begin(), expected.end());
    EXPECT_EQ(reader.records(), static_cast<std::int64_t>(records.size()));
    EXPECT_EQ(all_of(&reader), records) << round;
    for (const std::int64_t at : {0, 1, 17, 499}) {
      reader.rewind();
      reader.skip(at);
      ASSERT_TRUE(reader.next());
      EXPECT_EQ(reader.key(), records[static_cast<std::size_t>(at)].first);
      reader.skip(static_cast<std::int64_t>(records.size()) - at - 1);
      EXPECT_EQ(reader.key(), records.back().first);
      EXPECT_FALSE(reader.next());
    }
    for (int i = 0; i < 1000; ++i) {
      const std::size_t at = random() % (records.size() - 1);
      reader.go_to(static_cast<std::int64_t>(at));
      ASSERT_EQ(reader.key(), records[at].first);
      ASSERT_EQ(reader.value(), records[at].second);
      if (i % 3 > 0) continue;  // and on from there, in order
      ASSERT_TRUE(reader.next());
      ASSERT_EQ(reader.key(), records[at + 1].first);
    }
    reader.go_to(static_cast<std::int64_t>(records.size()) - 1);
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(all_of(&reader), records) << round;
  }
}

TEST(LmdbReader, SeesItsSnapshotUntilPagesMayBeReused) {
  const TemporaryFolder folder;
  Library library(folder / "db");
  const auto write = [&](int from, int to) {
    library.write([&](const auto& put, const auto&) {
      for (int i = from; i < to; ++i) put(fmt::format("{:08}", i), "value");
    });
  };
  write(0, 1000);
  LmdbReader reader(folder / "db");
  LmdbReader other(folder / "db");
  write(1000, 1100);
  EXPECT_EQ(all_of(&reader).size(), 1000u);
  write(1100, 1200);
  EXPECT_THAT(
      error_of([&] { all_of(&reader); }),
      HasSubstr("was written to while it was being read (its commit 1 was opened, 3 is there "
                "now)"));
  LmdbReader fresh(folder / "db");
  EXPECT_EQ(all_of(&fresh).size(), 1200u);
}

TEST(LmdbReader, SaysWhatIsThereInstead) {
  const TemporaryFolder folder;
  const std::string at = folder.path();
  EXPECT_EQ(open_error(""), "the path of the LMDB is empty");
  EXPECT_EQ(open_error(at + "/no"), "LMDB " + at + "/no does not exist");
  EXPECT_EQ(open_error(at.substr(1)), "LMDB " + at.substr(1) + " (in " +
                                          fs::current_path().string() +
                                          ") does not exist; did you mean \"" + at + "\"?");
  {
    const WorkingFolder there(at);
    EXPECT_EQ(open_error("no_lmdb"), "LMDB no_lmdb (in " + at + ") does not exist");
  }
  fs::create_symlink("/no/such", folder / "dangling");
  EXPECT_EQ(open_error(at + "/dangling"),
            "LMDB " + at + "/dangling is a symbolic link to /no/such, which does not exist");
  fs::create_directory(folder / "inner");
  EXPECT_EQ(open_error(at + "/inner"), at + "/inner is not an LMDB: it holds no data.mdb");
  fs::create_symlink("gone", folder / "inner/data.mdb");
  EXPECT_EQ(open_error(at + "/inner"), "LMDB " + at +
                                           "/inner: its data.mdb is a symbolic link to gone, which "
                                           "does not exist");
  fs::create_directory(folder / "level");
  write_file(folder / "level/CURRENT", "MANIFEST-000002\n");
  write_file(folder / "level/MANIFEST-000002", "");
  EXPECT_EQ(open_error(at + "/level"), at + "/level is a LevelDB, not an LMDB");
  fs::create_directories(folder / "folder/data.mdb");
  EXPECT_EQ(open_error(at + "/folder"),
            at + "/folder/data.mdb is not an LMDB: it is not a regular file");
}

TEST(LmdbReader, RefusesFilesThatAreNoDataBase) {
  const TemporaryFolder folder;
  const std::string file = folder / "data.mdb";
  write_file(file, "");
  EXPECT_EQ(open_error(folder.path()), file + " is not an LMDB: it has only 0 bytes");
  std::string bytes(20000, 'r');
  write_file(file, bytes);
  EXPECT_EQ(open_error(folder.path()), file + " is not an LMDB: it does not begin like one");

  const TemporaryFolder good;
  make_lmdb(good / "db", {{"a", "1"}});
  const std::string whole = contents_of(good / "db/data.mdb");
  bytes = whole;
  bytes[16 + 4] = 9;  // the version
  write_file(file, bytes);
  EXPECT_EQ(open_error(folder.path()),
            file + " has LMDB data format 9; this program reads format 1 (LMDB 0.9)");
  bytes = whole;
  bytes[16 + 24] = 3;  // the page size
  write_file(file, bytes);
  EXPECT_EQ(open_error(folder.path()), file + " is damaged: a page size of 4099");
  write_file(file, whole.substr(0, 5000));
  EXPECT_EQ(open_error(folder.path()), file + " is truncated: 5000 bytes");
  bytes = whole;
  std::fill(bytes.begin() + 4096, bytes.begin() + 8192, '\0');
  write_file(file, bytes);
  EXPECT_EQ(open_error(folder.path()), file + " is damaged: its second page is no meta page");
}

TEST(LmdbReader, RefusesEmptyTruncatedAndUnusualDataBases) {
  const TemporaryFolder folder;
  { LmdbWriter(folder / "empty").finish(); }
  EXPECT_EQ(open_error(folder / "empty"),
            "LMDB " + folder / "empty" + " is empty: it holds no records");

  make_lmdb(folder / "db", {{"a", std::string(10000, 'x')}});
  const std::string file = folder / "db/data.mdb";
  const std::uintmax_t size = fs::file_size(file);
  fs::resize_file(file, size - 1);
  EXPECT_THAT(
      open_error(folder / "db"),
      StartsWith("LMDB " + folder / "db" + " is truncated: of its 6 pages only 5 are there"));

  Library(folder / "dup")
      .write([](const auto& put, const auto&) { put("a", "1"); }, nullptr, MDB_DUPSORT);
  EXPECT_THAT(open_error(folder / "dup"), HasSubstr("several values for a key"));
  Library(folder / "named")
      .write([](const auto& put, const auto&) { put("a", "1"); }, "inner", MDB_CREATE);
  LmdbReader named(folder / "named");
  EXPECT_EQ(error_of([&] { all_of(&named); }),
            "LMDB " + folder / "named" +
                ": record \"inner\" is a data base of its own (a named one), not a record");
}

TEST(LmdbReader, NoticesTruncationWhileReading) {
  const TemporaryFolder folder;
  Records records;
  for (int i = 0; i < 100; ++i)
    records.emplace_back(fmt::format("{:08}", i), std::string(9000, 'x'));
  make_lmdb(folder / "db", records);
  LmdbReader reader(folder / "db");
  ASSERT_TRUE(reader.next());
  fs::resize_file(folder / "db/data.mdb", 40000);
  EXPECT_THAT(error_of([&] { all_of(&reader); }),
              HasSubstr("it was truncated while it was being read"));
}

TEST(LmdbWriter, GrowsItsMapAndKeepsEveryRecord) {
  const TemporaryFolder folder;
  Records records;
  for (int i = 0; i < 2500; ++i) {
    records.emplace_back(fmt::format("{:08}", i),
                         std::string(20000, static_cast<char>('a' + i % 26)));
  }
  make_lmdb(folder / "db", records);  // 50 MB, the map begins with 16
  LmdbReader reader(folder / "db");
  EXPECT_TRUE(all_of(&reader) == records);
}

// Of each data base that Caffe wrote: its records, taken apart and put together, are the same
// bytes, and a data base that is made of them holds the same.
TEST(LmdbWriter, HoldsWhatCaffesDataBasesHold) {
  int compared = 0;
  for (const auto& entry :
       fs::directory_iterator(std::string(CREMA_TEST_DATA) + "/conformance/data")) {
    const std::string path = (entry.path() / "db").string();
    if (!fs::exists(path + "/data.mdb")) continue;
    SCOPED_TRACE(path);
    const TemporaryFolder folder;
    LmdbReader reader(path);
    const Records expected = all_of(&reader);
    Records made;
    for (const auto& [key, value] : expected) {
      caffe::Datum datum;
      ASSERT_TRUE(datum.ParseFromString(value));
      made.emplace_back(key, datum.SerializeAsString());
    }
    EXPECT_EQ(made, expected);
    make_lmdb(folder / "db", made);
    LmdbReader copy(folder / "db");
    EXPECT_EQ(all_of(&copy), expected);
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

TEST(LmdbWriter, ReplacesNothing) {
  const TemporaryFolder folder;
  write_file(folder / "file", "mine");
  fs::create_directory(folder / "db");
  fs::create_symlink("nowhere", folder / "link");
  for (const char* name : {"file", "db", "db/", "link"}) {
    std::string shown = folder / name;
    if (shown.back() == '/') shown.pop_back();
    EXPECT_EQ(error_of([&] { LmdbWriter writer(folder / name); }),
              shown + " exists already; remove it first, or choose another name");
  }
  EXPECT_EQ(contents_of(folder / "file"), "mine");
  EXPECT_EQ(error_of([&] { LmdbWriter writer(folder / "no/db"); }),
            "cannot create " + folder / "no/db" + ": No such file or directory");
}

TEST(LmdbWriter, LeavesNothingUnlessFinished) {
  const TemporaryFolder folder;
  {
    LmdbWriter writer(folder / "db");
    for (int i = 0; i < 1500; ++i) writer.put(fmt::format("{:08}", i), "value");
    EXPECT_FALSE(fs::exists(folder / "db"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(LmdbWriter, RefusesKeysItCannotKeep) {
  const TemporaryFolder folder;
  LmdbWriter writer(folder / "db");
  EXPECT_THAT(error_of([&] { writer.put("", "1"); }), HasSubstr("a key has 1 to 511 bytes"));
  EXPECT_THAT(error_of([&] { writer.put(std::string(512, 'k'), "1"); }),
              HasSubstr("a key has 1 to 511 bytes"));
  writer.put("twice\n", "1");
  writer.put("twice\n", "2");
  EXPECT_EQ(error_of([&] { writer.finish(); }), "cannot write record \"twice\\x0a\" to " +
                                                    folder / "db" +
                                                    ": there is one of this key already");
}

}  // namespace
}  // namespace crema
