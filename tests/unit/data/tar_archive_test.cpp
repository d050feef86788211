#include "data/tar_archive.h"

#include <gmock/gmock.h>

#include "data/convert_images.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::contents_of;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::WorkingFolder;
using testing::write_file;
namespace fs = boost::filesystem;

/// By GNU tar, the program that everybody uses.
void tar(const std::string& arguments) {
  ASSERT_EQ(std::system(("tar " + arguments).c_str()), 0) << arguments;
}

class Tar : public ::testing::Test {
 protected:
  Tar() : there_(folder_.path()) {
    fs::create_directory("d");
    write_file("d/a", "first");
    write_file("d/b c", std::string(1000, 'b'));
    write_file("d/empty", "");
  }

  static std::string open_error(const std::string& path) {
    return error_of([&] { TarArchive archive(path); });
  }

  TemporaryFolder folder_;
  WorkingFolder there_;
};

TEST_F(Tar, FilesByName) {
  for (const char* form : {"ustar", "gnu", "pax", "v7"}) {
    SCOPED_TRACE(form);
    tar(std::string("-cf t.tar --format=") + form + " d ./d/a");
    const TarArchive archive("t.tar");
    EXPECT_EQ(archive.files(), 3);  // d/a came twice
    EXPECT_EQ(archive.read("d/a"), "first");
    EXPECT_EQ(archive.read("d/b c"), std::string(1000, 'b'));
    EXPECT_EQ(archive.read("d/empty"), "");
    EXPECT_EQ(error_of([&] { archive.read("d"); }), "t.tar holds no file d");
    EXPECT_EQ(error_of([&] { archive.read("z"); }), "t.tar holds no file z");
  }
}

TEST_F(Tar, LongNames) {
  const std::string deep = "d/" + std::string(90, 'x') + "/" + std::string(140, 'y');
  const std::string single = "d/" + std::string(200, 'z');
  fs::create_directory("d/" + std::string(90, 'x'));
  write_file(deep, "deep");
  write_file(single, "single");
  for (const char* form : {"gnu", "pax"}) {
    SCOPED_TRACE(form);
    tar(std::string("-cf t.tar --format=") + form + " d");
    const TarArchive archive("t.tar");
    EXPECT_EQ(archive.read(deep), "deep");
    EXPECT_EQ(archive.read(single), "single");
    EXPECT_EQ(archive.read("d/a"), "first");
  }
  fs::remove(single);
  fs::remove(deep);
  const std::string prefixed = "d/" + std::string(90, 'x') + "/" + std::string(60, 'y');
  write_file(prefixed, "prefixed");
  tar("-cf t.tar --format=ustar d");
  EXPECT_EQ(TarArchive("t.tar").read(prefixed), "prefixed");
}

TEST_F(Tar, ArchivesInArchives) {
  tar("-cf n01.tar -C d a 'b c'");
  tar("-cf n02.tar -C d a");
  tar("-cf t.tar n01.tar n02.tar d/a");
  const TarArchive archive("t.tar");
  EXPECT_EQ(archive.files(), 4);
  EXPECT_EQ(archive.read("n01/b c"), std::string(1000, 'b'));
  EXPECT_EQ(archive.read("n02/a"), "first");
  EXPECT_EQ(archive.read("d/a"), "first");
}

TEST_F(Tar, SaysWhatIsWrong) {
  EXPECT_EQ(open_error("none"), "cannot open none: No such file or directory");
  write_file("file", std::string(2000, 'x'));
  EXPECT_EQ(open_error("file"), "file is not a tar archive");
  write_file("file", "short");
  EXPECT_EQ(open_error("file"), "file is truncated: it ends after 5 bytes, without an end mark");
  write_file("file", "\x1f\x8b" + std::string(2000, 'x'));
  EXPECT_EQ(open_error("file"),
            "file is not a tar archive, but compressed by gzip; unpack it first (gunzip)");
  EXPECT_EQ(open_error("d"), "d is not a regular file");

  tar("-cf t.tar --format=ustar -C d a 'b c'");
  const std::string whole = contents_of("t.tar");
  write_file("file", whole.substr(0, 1024));
  EXPECT_EQ(open_error("file"), "file is truncated: it ends after 1024 bytes, without an end mark");
  write_file("file", whole.substr(0, 1536 + 999));
  EXPECT_EQ(open_error("file"), "file is truncated: b c needs 1000 bytes, 999 are left");
  std::string broken = whole;
  broken[1024] = 'X';
  write_file("file", broken);
  EXPECT_EQ(open_error("file"), "file is damaged: the header at byte 1024 has a wrong checksum");
  write_file("in.tar", whole.substr(0, 1024));
  tar("-cf outer.tar in.tar");
  EXPECT_EQ(open_error("outer.tar"),
            "in.tar in outer.tar is truncated: it ends after 1024 bytes, without an end mark");
  {
    write_file("file", whole);
    const TarArchive archive("file");
    fs::resize_file("file", 1600);
    EXPECT_EQ(error_of([&] { archive.read("b c"); }), "file was cut off while it was being read");
  }
}

TEST_F(Tar, NoBytesMakeItCrash) {
  tar("-cf t.tar --format=pax d");
  const std::string whole = contents_of("t.tar");
  std::minstd_rand random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (int i = 0; i < 3 && !bytes.empty(); ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    // A checksum that is right lets what is wrong through.
    for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
      std::string block = bytes.substr(at, 512);
      if (block[0] == 0 || round % 2 == 0) continue;
      std::fill(block.begin() + 148, block.begin() + 156, ' ');
      unsigned sum = 0;
      for (const char c : block) sum += static_cast<unsigned char>(c);
      block.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
      bytes.replace(at, 512, block);
    }
    write_file("file", bytes);
    EXPECT_THAT(open_error("file"), ::testing::Not(HasSubstr("internal")));
  }
}

TEST_F(Tar, ConvertImagesReadsFromIt) {
  fs::create_directory("n01");
  testing::write_png("n01/a.png", testing::noise(3, 4, 5, 1));
  testing::write_png("n01/b.png", testing::noise(3, 4, 5, 2));
  tar("-cf n01.tar -C n01 a.png b.png");
  tar("-cf t.tar n01.tar");
  write_file("list", "n01/b.png 0\nn01/a.png 1\n");
  for (const bool encoded : {false, true}) {
    ConvertImagesOptions options;
    options.encoded = encoded;
    convert_images("t.tar", "list", "from_tar", options);
    convert_images("./", "list", "from_files", options);
    EXPECT_EQ(contents_of("from_tar/data.mdb"), contents_of("from_files/data.mdb"));
    fs::remove_all("from_tar");
    fs::remove_all("from_files");
  }
  write_file("list", "n01/b.png 0\nn01/c.png 1\n");
  EXPECT_EQ(error_of([] { convert_images("t.tar", "list", "db", {}); }),
            "1 of 2 images cannot be converted (--skip_bad_records leaves such out): list:2: t.tar "
            "holds no file n01/c.png");
}

}  // namespace
}  // namespace crema
