#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "../proto/scratch.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : boost::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// While it lives, no file grows past `bytes`: what a full disk does to a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(ReadFileTest, ReadsBytesAsTheyAre) {
  const Scratch scratch;
  const std::string bytes("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_file(scratch.write("a", bytes)), bytes);
  EXPECT_EQ(read_file(scratch.write("empty", "")), "");
}

TEST(ReadFileTest, SaysWhatIsWrong) {
  const Scratch scratch;
  EXPECT_EQ(error_of([&] { read_file(scratch.path("none")); }),
            "cannot open " + scratch.path("none") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(scratch.folder()); }),
            scratch.folder() + " is a directory, not a file");
}

TEST(ReadFileTest, ReadsAPipeUnlessNobodyWritesToIt) {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { read_file(pipe); }), pipe + " is a pipe that nobody writes to");
  const int end = ::open(pipe.c_str(), O_RDWR);
  const std::string bytes(300000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    EXPECT_EQ(::write(end, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(end);
  });
  EXPECT_EQ(read_file(pipe).size(), bytes.size());
  writer.join();
}

TEST(WriteFileTest, MakesAndReplaces) {
  const Scratch scratch;
  const std::string path = scratch.path("file");
  write_file_atomically(path, "first, which is longer");
  EXPECT_EQ(read_file(path), "first, which is longer");
  write_file_atomically(path, "second");
  EXPECT_EQ(read_file(path), "second");
  EXPECT_EQ(names_in(scratch.folder()), std::vector<std::string>{"file"});
}

TEST(WriteFileTest, AFailingWriterLeavesTheOldFileAlone) {
  const Scratch scratch;
  const std::string path = scratch.write("file", "old");
  const auto writer = [](const std::string& temporary) {
    std::ofstream(temporary) << "half";
    fail("something broke");
  };
  EXPECT_EQ(error_of([&] { write_file_atomically(path, writer); }), "something broke");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names_in(scratch.folder()), std::vector<std::string>{"file"});
}

TEST(WriteFileTest, AFullDiskLeavesTheOldFileAlone) {
  const Scratch scratch;
  const std::string path = scratch.write("file", "old");
  std::string error;
  {
    const FileSizeLimit limit(4096);
    error = error_of([&] { write_file_atomically(path, std::string(100000, 'x')); });
  }
  EXPECT_NE(error.find("cannot write " + path), std::string::npos) << error;
  EXPECT_NE(error.find("File too large"), std::string::npos) << error;
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names_in(scratch.folder()), std::vector<std::string>{"file"});
}

TEST(WriteFileTest, AFolderIsRefused) {
  const Scratch scratch;
  const std::string path = scratch.path("folder");
  boost::filesystem::create_directories(path + "/inside");
  const std::string error = error_of([&] { write_file_atomically(path, "x"); });
  EXPECT_EQ(error, path + " is a folder, not a file");
  EXPECT_EQ(error_of([&] { require_writable_file(path); }), error);
  EXPECT_EQ(names_in(scratch.folder()), std::vector<std::string>{"folder"});
}

TEST(WriteFileTest, AMissingFolderIsNamed) {
  const Scratch scratch;
  const std::string path = scratch.path("none/file");
  EXPECT_EQ(error_of([&] { write_file_atomically(path, "x"); }),
            "cannot write " + path + ": No such file or directory");
}

TEST(WriteFileTest, ALinkStaysAndItsTargetIsReplaced) {
  const Scratch scratch;
  boost::filesystem::create_directories(scratch.path("inside"));
  for (const std::string& target : {scratch.path("inside/absolute"), std::string("inside/file")}) {
    const std::string link = scratch.path("link");
    boost::filesystem::create_symlink(target, link);
    write_file_atomically(link, "first");  // where there was nothing
    write_file_atomically(link, "second");
    EXPECT_TRUE(boost::filesystem::is_symlink(boost::filesystem::symlink_status(link)));
    EXPECT_EQ(read_file(link), "second");
    boost::filesystem::remove(link);
  }
  EXPECT_EQ(names_in(scratch.path("inside")).size(), 2u);
}

TEST(WriteFileTest, TheModeStays) {
  const Scratch scratch;
  for (const mode_t mode : {0600u, 0444u, 0640u, 0u}) {
    const std::string path = scratch.write("file", "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_file_atomically(path, "new");
    struct stat is = {};
    ASSERT_EQ(::stat(path.c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 07777, mode);
  }
}

TEST(WriteFileTest, DevicesStay) {
  write_file_atomically("/dev/null", "gone");
  struct stat is = {};
  ASSERT_EQ(::stat("/dev/null", &is), 0);
  EXPECT_TRUE(S_ISCHR(is.st_mode));
  EXPECT_EQ(error_of([] { write_file_atomically("/dev/full", "x"); }),
            "cannot write /dev/full: No space left on device");
}

TEST(ReadTextFileTest, LeavesOutTheByteOrderMarkAndRefusesNul) {
  const Scratch scratch;
  EXPECT_EQ(read_text_file(scratch.write("a",
                                         "\xef\xbb\xbf"
                                         "a\n")),
            "a\n");
  const std::string path = scratch.write("b", std::string("a\nb\0c", 5));
  EXPECT_EQ(error_of([&] { read_text_file(path); }),
            path + ":2: a NUL byte; the file should be plain text (UTF-8)");
}

TEST(WritableFolderTest, LeavesNoTrace) {
  const Scratch scratch;
  require_writable_folder(scratch.path("prefix"), "snapshots");
  EXPECT_TRUE(names_in(scratch.folder()).empty());
}

TEST(WritableFolderTest, SaysWhatIsWrongAndWhatItWasFor) {
  const Scratch scratch;
  EXPECT_EQ(error_of([&] { require_writable_folder(scratch.path("a/b"), "snapshots"); }),
            "the folder " + scratch.path("a") + " for snapshots does not exist; make it first");
  scratch.write("file", "");
  EXPECT_EQ(error_of([&] { require_writable_folder(scratch.path("file/b"), "snapshots"); }),
            scratch.path("file") + " for snapshots is not a folder");
  // Not even the superuser makes files there.
  const std::string error = error_of([&] { require_writable_folder("/proc/b", "snapshots"); });
  EXPECT_EQ(error.rfind("the folder /proc for snapshots cannot be written: ", 0), 0u) << error;
}

TEST(WritableFolderTest, ABareNameMeansTheWorkingFolder) {
  const Scratch scratch;
  const auto before = boost::filesystem::current_path();
  boost::filesystem::current_path(scratch.folder());
  EXPECT_EQ(error_of([&] { require_writable_folder("prefix", "snapshots"); }), "");
  boost::filesystem::current_path(before);
}

TEST(TemporaryWriterTest, ReadsTheProcessFromTheName) {
  std::string name;
  const Scratch scratch;
  write_file_atomically(scratch.path("file"), [&](const std::string& temporary) {
    name = temporary;
    std::ofstream(temporary) << "x";
  });
  EXPECT_EQ(temporary_writer(name), ::getpid());
  EXPECT_EQ(temporary_writer("a_iter_5.caffemodel.123.tmp"), 123);
  for (const char* other : {"a.tmp", "a.12x.tmp", "a.123", "123.tmp", ".tmp", "", "a..tmp",
                            "a.99999999999999999999.tmp"}) {
    EXPECT_EQ(temporary_writer(other), 0) << other;
  }
}

}  // namespace
}  // namespace crema
