#include "data/convert_images.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/files.h"
#include "base/tool.h"
#include "fixtures.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::noise;
using testing::TemporaryFolder;
using testing::write_file;

class ConvertImages : public ::testing::Test {
 protected:
  ConvertImages() : there_(folder_.path()) {
    boost::filesystem::create_directory("in");
    testing::write_png("in/a.png", color_);
    write_file("in/b c.JPG", encode_image(gray_, "jpg"));
    write_file("list", "a.png 4\nb c.JPG 7\n");
  }

  ConvertImagesResult convert() { return convert_images("in/", "list", "db", options_); }
  std::string convert_error() {
    const std::string text = error_of([&] { convert(); });
    EXPECT_FALSE(boost::filesystem::exists("db"));
    return text;
  }

  struct Record {
    std::string key;
    caffe::Datum datum;
  };
  static std::vector<Record> records() {
    std::vector<Record> found;
    LmdbReader reader("db");
    while (reader.next()) {
      found.push_back({std::string(reader.key()), {}});
      EXPECT_TRUE(found.back().datum.ParseFromString(std::string(reader.value())));
    }
    return found;
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  const Image color_ = noise(3, 4, 6, 1), gray_ = noise(1, 5, 5, 2);
  ConvertImagesOptions options_;
};

TEST_F(ConvertImages, Pixels) {
  const ConvertImagesResult result = convert();
  EXPECT_EQ(result.records, 2);
  EXPECT_EQ(result.skipped, 0);
  EXPECT_THAT(result.reasons, ElementsAre());
  const std::vector<Record> found = records();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "00000000_a.png");
  EXPECT_EQ(found[1].key, "00000001_b c.JPG");
  EXPECT_EQ(found[0].datum.label(0), 4);
  EXPECT_EQ(found[0].datum.channels(), 3);
  EXPECT_EQ(found[0].datum.height(), 4);
  EXPECT_EQ(found[0].datum.width(), 6);
  EXPECT_FALSE(found[0].datum.encoded());
  EXPECT_EQ(found[0].datum.data(), std::string(color_.bytes.begin(), color_.bytes.end()));
  EXPECT_EQ(found[1].datum.channels(), 3);  // three equal ones
}

TEST_F(ConvertImages, GreyAndResized) {
  options_.gray = true;
  options_.resize_height = 3;
  options_.resize_width = 2;
  options_.check_size = true;
  convert();
  for (const Record& record : records()) {
    EXPECT_EQ(record.datum.channels(), 1);
    EXPECT_EQ(record.datum.height(), 3);
    EXPECT_EQ(record.datum.width(), 2);
    EXPECT_EQ(record.datum.data().size(), 6u);
  }
}

TEST_F(ConvertImages, EncodedFilesStayAsTheyAre) {
  options_.encoded = true;
  convert();
  const std::vector<Record> found = records();
  EXPECT_TRUE(found[0].datum.encoded());
  EXPECT_FALSE(found[0].datum.has_channels());
  EXPECT_EQ(found[0].datum.data(), testing::contents_of("in/a.png"));
  EXPECT_EQ(found[1].datum.data(), testing::contents_of("in/b c.JPG"));
}

TEST_F(ConvertImages, EncodedAnewInGreyWhereThereAreColours) {
  options_.encoded = options_.gray = true;
  convert();
  const std::vector<Record> found = records();
  Image stored, expected;
  decode_image(found[0].datum.data(), Decode::kAsIs, &stored);
  read_image("in/a.png", Decode::kGray, &expected);
  EXPECT_EQ(stored.shape(), expected.shape());
  EXPECT_EQ(stored.bytes, expected.bytes);
  EXPECT_EQ(found[1].datum.data(), read_file("in/b c.JPG"));  // is grey already
}

TEST_F(ConvertImages, EncodedAnewWhereTypeOrSizeChange) {
  options_.encoded = true;
  options_.encode_type = "jpeg";
  convert();
  const std::vector<Record> found = records();
  EXPECT_EQ(image_kind(found[0].datum.data()), "a JPEG image");
  EXPECT_EQ(found[1].datum.data(), testing::contents_of("in/b c.JPG"));  // jpg is jpeg
  boost::filesystem::remove_all("db");
  options_.encode_type = "png";
  options_.resize_height = options_.resize_width = 7;
  convert();
  Image decoded;
  decode_image(records()[0].datum.data(), Decode::kAsIs, &decoded);
  EXPECT_EQ(decoded.shape(), (Shape{3, 7, 7}));
  Image resized;
  resize_image(color_, 7, 7, &resized);
  EXPECT_EQ(decoded.bytes, resized.bytes);
}

TEST_F(ConvertImages, ShufflesTheOrderNotTheKeys) {
  std::string list;
  for (int i = 0; i < 20; ++i) list += fmt::format("a.png {}\n", i);
  write_file("list", list);
  options_.shuffle = true;
  options_.seed = 3;
  convert();
  std::vector<int> labels;
  int i = 0;
  for (const Record& record : records()) {
    EXPECT_EQ(record.key, fmt::format("{:08}_a.png", i++));
    labels.push_back(record.datum.label(0));
  }
  EXPECT_EQ(std::set<int>(labels.begin(), labels.end()).size(), 20u);
  EXPECT_FALSE(std::is_sorted(labels.begin(), labels.end()));
}

TEST_F(ConvertImages, BadImagesAreListedAndNothingIsMade) {
  write_file("list", "a.png 1\nnone.png 2\nb c.JPG 3\nbad.png 4\n");
  write_file("in/bad.png", "no picture");
  EXPECT_EQ(
      convert_error(),
      "2 of 4 images cannot be converted (--skip_bad_records leaves such out): list:2: cannot "
      "open in/none.png: No such file or directory; list:4: in/bad.png: the 10 bytes cannot "
      "be decoded as an image: it is of no known kind, or damaged");
  options_.skip_bad_records = true;
  const ConvertImagesResult result = convert();
  EXPECT_EQ(result.records, 2);
  EXPECT_EQ(result.skipped, 2);
  EXPECT_THAT(result.reasons, ElementsAre(HasSubstr("list:2:"), HasSubstr("list:4:")));
  EXPECT_EQ(records()[1].key, "00000002_b c.JPG");  // numbers are places in the list
}

TEST_F(ConvertImages, OtherErrors) {
  options_.check_size = true;
  EXPECT_THAT(convert_error(),
              HasSubstr("list:2: in/b c.JPG: the image is 3x5x5, but the first one is 3x4x6"));
  options_.check_size = false;
  write_file("list", "a.png\n");
  EXPECT_EQ(convert_error(), "list:1: \"a.png\" has no label; a line is NAME LABEL");
  write_file("list", "none 1\n");
  options_.skip_bad_records = true;
  EXPECT_THAT(convert_error(), HasSubstr("1 of 1 images cannot be converted"));
  options_.skip_bad_records = false;
  options_.encoded = true;
  write_file("in/picture", encode_image(color_, "png"));
  write_file("list", "picture 1\n");
  EXPECT_THAT(convert_error(),
              HasSubstr("the name has no ending that would tell how to encode it"));
}

TEST_F(ConvertImages, WrongOptions) {
  const auto wrong = [&](const ConvertImagesOptions& options) -> std::string {
    try {
      convert_images("in/", "list", "db", options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  ConvertImagesOptions options;
  options.resize_height = 4;
  EXPECT_EQ(wrong(options), "--resize_height and --resize_width: give both, greater than 0");
  options.resize_width = -4;
  EXPECT_EQ(wrong(options), "--resize_height and --resize_width: give both, greater than 0");
  options.resize_height = 30000;
  options.resize_width = 25000;
  EXPECT_EQ(
      wrong(options),
      "--resize_height=30000 --resize_width=25000: such an image has 2.25 GB of pixels, and a "
      "record holds 2 GB");
  options = {};
  options.encode_type = "pngg";
  EXPECT_EQ(wrong(options),
            "--encode_type is \"pngg\"; it can be bmp, jpeg, jpg, pgm, png, ppm, "
            "tif, tiff, webp");
  options = {};
  options.label_count = 0;
  EXPECT_EQ(wrong(options), "--label_count is 0; it must be at least 1");
  options = {};
  options.threads = -1;
  EXPECT_EQ(wrong(options), "--threads is -1; it cannot be negative");
}

TEST_F(ConvertImages, EncodesEveryTypeThatItNames) {
  write_file("list", "a.png 1\n");
  options_.encoded = true;
  for (const char* type : {"bmp", "jpeg", "jpg", "png", "ppm", "tif", "tiff", "webp"}) {
    SCOPED_TRACE(type);
    options_.encode_type = type;
    convert();
    Image decoded;
    decode_image(records()[0].datum.data(), Decode::kAsIs, &decoded);
    EXPECT_EQ(decoded.shape(), color_.shape());
    boost::filesystem::remove_all("db");
  }
  options_.encode_type = "pgm";
  options_.gray = true;
  convert();
  EXPECT_EQ(records()[0].datum.data().substr(0, 2), "P5");
}

TEST_F(ConvertImages, SeveralLabels) {
  options_.label_count = 3;
  write_file("list", "a.png 1 16777217 -3\nb c.JPG 4 5 6\n");
  convert();
  const std::vector<Record> found = records();
  EXPECT_EQ(found[1].key, "00000001_b c.JPG");
  EXPECT_THAT(found[0].datum.label(), ElementsAre(1, 16777217, -3));
  EXPECT_THAT(found[1].datum.label(), ElementsAre(4, 5, 6));
  EXPECT_EQ(found[0].datum.float_label_size(), 0);
}

TEST_F(ConvertImages, LabelsThatAreNotWhole) {
  options_.label_count = 2;
  write_file("list", "a.png 1 0\nb c.JPG 4 .25\n");
  EXPECT_EQ(convert_error(),
            "list:2: the label \".25\" of \"b c.JPG\" is not a whole number of 32 bits; "
            "--float_labels stores such labels");
  options_.float_labels = true;
  convert();
  const std::vector<Record> found = records();
  EXPECT_THAT(found[0].datum.float_label(), ElementsAre(1, 0));
  EXPECT_THAT(found[1].datum.float_label(), ElementsAre(4, 0.25));
  EXPECT_EQ(found[0].datum.label_size(), 0);
}

TEST_F(ConvertImages, KeysThatAreTooLong) {
  const auto of_size = [](std::size_t size) { return "." + std::string(size - 6, '/') + "a.png"; };
  write_file("list", of_size(502) + " 1\n" + of_size(503) + " 2\n");
  EXPECT_EQ(convert_error(),
            "1 of 2 images cannot be converted (--skip_bad_records leaves such out): list:2: the "
            "name of in/" +
                of_size(503) + " is too long: a key has 511 bytes at most, this one 512");
  options_.skip_bad_records = true;
  EXPECT_EQ(convert().records, 1);
  EXPECT_EQ(records()[0].key.size(), 511u);
}

TEST_F(ConvertImages, OnlySomeReasonsAreKept) {
  std::string list = "a.png 0\n";
  for (int i = 0; i < 25; ++i) list += "none 0\n";
  write_file("list", list);
  EXPECT_THAT(convert_error(), ::testing::AllOf(::testing::StartsWith("25 of 26 images"),
                                                HasSubstr("list:11: cannot open"),
                                                ::testing::Not(HasSubstr("list:12:")),
                                                ::testing::EndsWith("; and 15 more")));
  options_.skip_bad_records = true;
  const ConvertImagesResult result = convert();
  EXPECT_EQ(result.skipped, 25);
  EXPECT_EQ(result.reasons.size(), ConvertImagesResult::kReasons);
}

TEST_F(ConvertImages, TellsWhatItDoes) {
  std::string list;
  for (int i = 0; i < 2500; ++i) list += "a.png 0\n";
  write_file("list", list);
  std::vector<std::int64_t> listed, written;
  std::int64_t last = 0;
  ConvertImagesEvents events;
  events.listed = [&](std::int64_t images) { listed.push_back(images); };
  events.written = [&](std::int64_t records) { written.push_back(records); };
  events.progress = [&](std::int64_t done, std::int64_t all) {
    EXPECT_EQ(done, last + 1);
    EXPECT_EQ(all, 2500);
    last = done;
  };
  convert_images("in/", "list", "db", options_, events);
  EXPECT_THAT(listed, ElementsAre(2500));
  EXPECT_THAT(written, ElementsAre(1000, 2000, 2500));
  EXPECT_EQ(last, 2500);
}

// Records of very different sizes and costs, some of them bad.
TEST_F(ConvertImages, IsTheSameForAnyNumberOfThreadsAndAnyMemory) {
  std::string list;
  for (int i = 0; i < 300; ++i) {
    const std::string name = fmt::format("{}.png", i);
    if (i % 11 != 0) testing::write_png("in/" + name, noise(3, 1 + i % 40, 1 + i % 37, 7));
    list += fmt::format("{} {}\n", name, i);
  }
  write_file("list", list);
  options_.skip_bad_records = true;
  options_.shuffle = true;
  const auto made = [&](int threads, std::size_t waiting_bytes) {
    options_.threads = threads;
    options_.waiting_bytes = waiting_bytes;
    const ConvertImagesResult result = convert();
    EXPECT_EQ(result.records, 272);
    EXPECT_EQ(result.skipped, 28);
    const std::string bytes = testing::contents_of("db/data.mdb");
    boost::filesystem::remove_all("db");
    return std::make_pair(bytes, result.reasons);
  };
  const auto expected = made(1, std::size_t{1} << 30);
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t bytes : {0, 5000, 1 << 30}) {
      SCOPED_TRACE(fmt::format("{} threads, {} bytes", threads, bytes));
      EXPECT_TRUE(made(threads, bytes) == expected);
    }
  }
}

class ConvertFolder : public ConvertImages {
 protected:
  ConvertFolder() {
    for (const char* name : {"cat", "ant", "dog"}) {
      for (int i = 0; i < 10; ++i) {
        boost::filesystem::create_directories(fmt::format("f/{}", name));
        testing::write_png(fmt::format("f/{}/{}.png", name, i), noise(3, 2, 2, 3));
      }
    }
  }
  static std::vector<std::string> keys_of(const std::string& path) {
    std::vector<std::string> keys;
    LmdbReader reader(path);
    while (reader.next()) keys.emplace_back(reader.key());
    return keys;
  }
};

TEST_F(ConvertFolder, LabelsAreThePlacesOfTheSubFolders) {
  const ConvertFolderResult result = convert_folder("f", "db", {options_, 0, ""});
  EXPECT_EQ(result.train.records, 30);
  EXPECT_EQ(result.classes, 3);
  EXPECT_EQ(testing::contents_of("db/labels.txt"), "ant\ncat\ndog\n");
  const std::vector<Record> found = records();
  ASSERT_EQ(found.size(), 30u);
  EXPECT_EQ(found[0].key, "00000000_ant/0.png");
  EXPECT_EQ(found[29].key, "00000029_dog/9.png");
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(found[i].datum.label(0), i / 10);
}

TEST_F(ConvertFolder, DividesEachClass) {
  options_.shuffle = true;
  options_.seed = 5;
  const ConvertFolderResult result = convert_folder("f", "db", {options_, 0.25, "test"});
  EXPECT_EQ(result.train.records, 21);  // 2.5 of 10 are 3
  EXPECT_EQ(result.test.records, 9);
  EXPECT_EQ(testing::contents_of("test/labels.txt"), "ant\ncat\ndog\n");
  std::map<std::string, int> tested;
  std::set<std::string> all;
  for (const std::string& key : keys_of("test")) {
    ++tested[key.substr(9, 3)];
    EXPECT_TRUE(all.insert(key.substr(9)).second);
  }
  for (const std::string& key : keys_of("db")) EXPECT_TRUE(all.insert(key.substr(9)).second);
  EXPECT_EQ(all.size(), 30u);
  EXPECT_EQ(tested, (std::map<std::string, int>{{"ant", 3}, {"cat", 3}, {"dog", 3}}));
  EXPECT_EQ(keys_of("test").front().substr(0, 9), "00000000_");

  const std::vector<std::string> first = keys_of("test");
  boost::filesystem::remove_all("db");
  boost::filesystem::remove_all("test");
  convert_folder("f", "db", {options_, 0.25, "test"});
  EXPECT_EQ(keys_of("test"), first);
  boost::filesystem::remove_all("db");
  boost::filesystem::remove_all("test");
  options_.seed = 6;
  convert_folder("f", "db", {options_, 0.25, "test"});
  EXPECT_NE(keys_of("test"), first);
}

TEST_F(ConvertFolder, Errors) {
  const auto error = [&](double share, const std::string& test_db) {
    const std::string text = error_of([&] {
      convert_folder("f", "db", {options_, share, test_db});
    });
    EXPECT_FALSE(boost::filesystem::exists("db"));
    EXPECT_FALSE(boost::filesystem::exists("test"));
    return text;
  };
  EXPECT_THROW(error(0.5, ""), UsageError);
  EXPECT_THROW(error(0, "test"), UsageError);
  EXPECT_THROW(error(1, "test"), UsageError);
  EXPECT_EQ(error(0.01, "test"),
            "--test_fraction=0.01 of 30 images in 3 classes leaves 0 for tests, 30 for training");
  write_file("f/cat/3.png", "x");
  write_file("f/dog/3.png", "x");
  EXPECT_THAT(error(0.5, "test"), ::testing::StartsWith("2 of 30 images cannot be converted"));
  EXPECT_EQ(error_of([&] {
              convert_folder("list", "db", {options_, 0, ""});
            }),
            "list is not a folder; convert-imageset takes a list");
}

}  // namespace
}  // namespace crema
