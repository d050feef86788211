// What the kinds of data bases have in common, and LevelDB's own.
#include "data/database.h"

#include <gmock/gmock.h>

#include "base/tool.h"
#include "data/batch_reader.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
namespace fs = boost::filesystem;

constexpr auto kLevelDb = caffe::DataParameter::LEVELDB;
constexpr auto kLmdb = caffe::DataParameter::LMDB;

TEST(Database, BackendNames) {
  EXPECT_EQ(backend_named("lmdb"), kLmdb);
  EXPECT_EQ(backend_named("LevelDB"), kLevelDb);
  EXPECT_THROW(backend_named("sqlite"), UsageError);
}

TEST(Database, KindsAreToldApart) {
  const TemporaryFolder folder;
  testing::make_lmdb(folder / "l", {{"k", "v"}});
  EXPECT_EQ(database_kind(folder / "l"), "LMDB");
  EXPECT_EQ(database_kind(folder / "none"), "");
  EXPECT_EQ(error_of([&] { open_database(folder / "l", kLevelDb); }),
            folder / "l" + " is an LMDB, not a LevelDB");
}

#ifdef CREMA_LEVELDB

std::vector<std::string> keys_of(DatabaseReader* reader) {
  std::vector<std::string> keys;
  while (reader->next()) keys.emplace_back(reader->key());
  return keys;
}

class Backends : public ::testing::TestWithParam<caffe::DataParameter::DB> {};

TEST_P(Backends, WriteAndRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "db";
  {
    const auto writer = create_database(path + "/", GetParam());
    for (const int i : {3, 1, 2}) writer->put(fmt::format("k{}", i), std::string(1000 * i, 'v'));
    EXPECT_FALSE(fs::exists(path));
    writer->finish();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  const auto reader = open_database(path, GetParam());
  EXPECT_EQ(reader->path(), path);
  EXPECT_EQ(reader->records(), 3);
  EXPECT_THAT(keys_of(reader.get()), ElementsAre("k1", "k2", "k3"));
  EXPECT_THAT(keys_of(reader.get()), ElementsAre("k1", "k2", "k3"));
  reader->next();
  EXPECT_EQ(reader->value(), std::string(1000, 'v'));
  reader->rewind();
  reader->skip(2);
  EXPECT_TRUE(reader->next());
  EXPECT_EQ(reader->key(), "k3");
  EXPECT_EQ(reader->value(), std::string(3000, 'v'));
  EXPECT_EQ(error_of([&] { create_database(path, GetParam()); }),
            path + " exists already; remove it first, or choose another name");
}

TEST_P(Backends, NothingIsLeftOfWhatWasNotFinished) {
  const TemporaryFolder folder;
  {
    const auto writer = create_database(folder / "db", GetParam());
    for (int i = 0; i < 2500; ++i) writer->put(fmt::format("{:08}", i), "some value");
    EXPECT_THAT(error_of([&] { writer->put("", "v"); }), HasSubstr("a key has 1 to 511 bytes"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_THAT(error_of([&] { create_database(folder / "no/db", GetParam()); }),
              HasSubstr("cannot create " + folder / "no/db"));
  EXPECT_THAT(error_of([&] { create_database("", GetParam()); }), HasSubstr("is empty"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Backends, ::testing::Values(kLmdb, kLevelDb), [](const auto& info) {
  return caffe::DataParameter::DB_Name(info.param);
});

TEST(LevelDb, Errors) {
  const TemporaryFolder folder;
  const auto failure = [&](const std::string& name) {
    return error_of([&] { open_database(folder / name, kLevelDb); });
  };
  EXPECT_EQ(failure("none"), "LevelDB " + folder / "none does not exist");
  fs::create_directory(folder / "empty");
  EXPECT_EQ(failure("empty"), folder / "empty is not a LevelDB: it has no file CURRENT");
  { create_database(folder / "nothing", kLevelDb)->finish(); }
  EXPECT_EQ(failure("nothing"), "LevelDB " + folder / "nothing holds no records");

  const auto writer = create_database(folder / "db", kLevelDb);
  writer->put("k", "v");
  writer->finish();
  const auto reader = open_database(folder / "db", kLevelDb);
  EXPECT_THAT(failure("db"), HasSubstr("a LevelDB can be open only once at a time"));
}

TEST(LevelDb, DamageIsAnError) {
  const TemporaryFolder folder;
  {
    const auto writer = create_database(folder / "db", kLevelDb);
    for (int i = 0; i < 100; ++i) writer->put(fmt::format("{:08}", i), std::string(500, 'v'));
    writer->finish();
  }
  { open_database(folder / "db", kLevelDb); }  // the log becomes a table
  int damaged = 0;
  for (const auto& entry : fs::directory_iterator(folder / "db")) {
    if (entry.path().extension() != ".ldb") continue;
    std::string bytes = testing::contents_of(entry.path().string());
    for (std::size_t i = 0; i + 300 < bytes.size(); i += 200) bytes[i] ^= 0x55;
    testing::write_file(entry.path().string(), bytes);
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  EXPECT_THAT(error_of([&] {
                const auto reader = open_database(folder / "db", kLevelDb);
                keys_of(reader.get());
              }),
              HasSubstr("is damaged: Corruption"));
}

TEST(LevelDb, DataLayersReadIt) {
  const TemporaryFolder folder;
  {
    const auto writer = create_database(folder / "db", kLevelDb);
    for (int i = 0; i < 5; ++i) {
      writer->put(fmt::format("{:08}", i), byte_datum(1, 1, 2, i, i).SerializeAsString());
    }
    writer->finish();
  }
  caffe::LayerParameter layer;
  layer.add_top("data");
  layer.add_top("label");
  layer.mutable_data_param()->set_source(folder / "db");  // the backend is LEVELDB by default
  layer.mutable_data_param()->set_batch_size(2);
  const auto reader = open_data(layer, caffe::TEST, 1);
  std::vector<float> data(4), labels(2);
  const auto read = [&] {
    reader->follow_shapes();
    reader->read({data.data(), labels.data()});
    return labels;
  };
  EXPECT_THAT(read(), ElementsAre(0, 1));
  EXPECT_THAT(read(), ElementsAre(2, 3));
  EXPECT_THAT(read(), ElementsAre(4, 0));
  EXPECT_EQ(reader->records(), 5);
  reader->seek(8);
  EXPECT_THAT(read(), ElementsAre(3, 4));
  EXPECT_THAT(data, ElementsAre(3, 4, 4, 5));
}

#endif

}  // namespace
}  // namespace crema
