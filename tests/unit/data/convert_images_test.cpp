#include "data/convert_images.h"

#include <gmock/gmock.h>

#include <set>

#include "base/files.h"
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
  EXPECT_TRUE(result.skipped.empty());
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
  EXPECT_THAT(result.skipped, ElementsAre(HasSubstr("list:2:"), HasSubstr("list:4:")));
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

}  // namespace
}  // namespace crema
