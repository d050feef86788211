#include "data/new_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "data/database.h"
#include "fixtures.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What a program leaves that is killed while it makes `path`: a temporary folder.
std::string killed_while_making(const std::string& path, const std::string& kind = "LMDB") {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto backend =
        kind == "LMDB" ? caffe::DataParameter::LMDB : caffe::DataParameter::LEVELDB;
    const auto writer = create_database(path, backend);
    for (int i = 0; i < 1500; ++i) writer->put(fmt::format("{:08}", i), "value");
    ::_exit(0);  // as after a kill: no destructor runs
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string folder = fs::path(path).parent_path().string();
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with(fs::path(path).filename().string() + ".tmp-")) return folder + "/" + name;
  }
  return "";
}

TEST(NewFolder, AppearsWhenItIsKept) {
  const TemporaryFolder folder;
  NewFolder made(folder / "new//", "LMDB");
  EXPECT_EQ(made.path(), folder / "new");
  made.write("inside", "contents");
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_THAT(names_in(made.temporary()), ::testing::ElementsAre("INCOMPLETE", "inside"));
  made.keep();
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("new"));
  EXPECT_THAT(names_in(folder / "new"), ::testing::ElementsAre("inside"));
  EXPECT_EQ(testing::contents_of(folder / "new/inside"), "contents");
}

TEST(NewFolder, IsMadeByOneAtATime) {
  const TemporaryFolder folder;
  const NewFolder first(folder / "new", "LMDB");
  EXPECT_EQ(error_of([&] { NewFolder second(folder / "new", "LMDB"); }),
            "another program is making " + folder / "new already, in " + first.temporary());
  const NewFolder other(folder / "other", "LMDB");  // of another name there may be one
}

TEST(NewFolder, ReplacesNothingThatCameMeanwhile) {
  const TemporaryFolder folder;
  {
    NewFolder made(folder / "new", "LMDB");
    fs::create_directory(folder / "new");  // empty: rename() alone would replace it
    EXPECT_EQ(error_of([&] { made.keep(); }),
              "cannot rename " + made.temporary() + " to " + folder / "new: File exists");
  }
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("new"));
}

TEST(NewFolder, RemovesWhatAKilledRunLeft) {
  const TemporaryFolder folder;
  const std::string leftover = killed_while_making(folder / "db");
  ASSERT_NE(leftover, "");
  EXPECT_EQ(error_of([&] { LmdbReader reader(leftover); }),
            leftover +
                " is not complete: the program that wrote it was killed; remove it "
                "and make it again");
  EXPECT_THAT(error_of([&] { LmdbReader reader(leftover + "/data.mdb"); }),
              StartsWith(leftover + "/data.mdb is not complete: "));
  // Also under another name.
  fs::rename(leftover, folder / "saved");
  EXPECT_THAT(error_of([&] { LmdbReader reader(folder / "saved"); }),
              StartsWith(folder / "saved is not complete: "));
  fs::rename(folder / "saved", leftover);

  testing::make_lmdb(folder / "db", {{"a", "1"}});
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("db"));
}

TEST(NewFolder, TellsOfOneThatIsBeingWritten) {
  const TemporaryFolder folder;
  const NewFolder made(folder / "db", "LMDB");
  testing::write_file(made.temporary() + "/data.mdb", "");
  EXPECT_EQ(error_of([&] { LmdbReader reader(made.temporary()); }),
            made.temporary() + " is not complete: a program is writing it");
}

TEST(NewFolder, LeavesAloneWhatItDidNotMake) {
  const TemporaryFolder folder;
  for (const char* name : {"db.tmp-abcdef", "db.tmp-abcde", "db.tmp-abc/ef", "adb.tmp-abcdef"}) {
    fs::create_directories(folder / name);
    testing::write_file(folder / name + "/mine", "mine");
  }
  const auto before = names_in(folder.path());
  { NewFolder made(folder / "db", "LMDB"); }
  EXPECT_EQ(names_in(folder.path()), before);
}

#ifdef CREMA_LEVELDB
TEST(NewFolder, OfLevelDbToo) {
  const TemporaryFolder folder;
  const std::string leftover = killed_while_making(folder / "db", "LevelDB");
  ASSERT_NE(leftover, "");
  EXPECT_EQ(error_of([&] { open_database(leftover, caffe::DataParameter::LEVELDB); }),
            leftover +
                " is not complete: the program that wrote it was killed; remove it "
                "and make it again");
  create_database(folder / "db", caffe::DataParameter::LEVELDB)->finish();
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("db"));
}
#endif

TEST(NewFolder, FilesAreAttachedToDataBases) {
  const TemporaryFolder folder;
  const auto writer = create_database(folder / "db", caffe::DataParameter::LMDB);
  writer->put("k", "v");
  writer->attach("labels.txt", "cat\ndog\n");
  writer->finish();
  EXPECT_EQ(testing::contents_of(folder / "db/labels.txt"), "cat\ndog\n");
  EXPECT_EQ(LmdbReader(folder / "db").records(), 1);
}

}  // namespace
}  // namespace crema
