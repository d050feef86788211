// Lists of picture files, and the batches that ImageData makes of them.
#include "data/image_list.h"

#include <gmock/gmock.h>

#include <set>

#include "data/batch_reader.h"
#include "fixtures.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::noise;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_png;

std::string list_error(const std::string& text) {
  const TemporaryFolder folder;
  const testing::WorkingFolder there(folder.path());
  write_file("list.txt", text);
  return error_of([] { ImageList("list.txt"); });
}

TEST(ImageList, NamesMayHoldBlanksAndLinesMayEndAsTheyLike) {
  const TemporaryFolder folder;
  write_file(folder / "list.txt",
             "a.png 3\nmy own  cat.png 7\r\n\n  \nb.png -1 \t\nc.png\t+5\nlast 0");
  const ImageList list(folder / "list.txt");
  ASSERT_EQ(list.size(), 5);
  EXPECT_EQ(list[0].name, "a.png");
  EXPECT_EQ(list[0].label, 3);
  EXPECT_EQ(list[1].name, "my own  cat.png");
  EXPECT_EQ(list[1].label, 7);
  EXPECT_EQ(list[2].name, "b.png");
  EXPECT_EQ(list[2].label, -1);
  EXPECT_EQ(list[3].name, "c.png");
  EXPECT_EQ(list[3].label, 5);
  EXPECT_EQ(list[4].name, "last");
  EXPECT_EQ(list.where(4), folder / "list.txt:7");
}

TEST(ImageList, Errors) {
  EXPECT_EQ(list_error(""), "list.txt lists no images");
  EXPECT_EQ(list_error("\n \r\n"), "list.txt lists no images");
  EXPECT_EQ(list_error("a.png 1\nb.png\n"),
            "list.txt:2: \"b.png\" has no label; a line is NAME LABEL");
  EXPECT_EQ(list_error(" 4\n"), "list.txt:1: \" 4\" has no name; a line is NAME LABEL");
  EXPECT_EQ(list_error("a b.png\n"),
            "list.txt:1: the label \"b.png\" of \"a\" is not a whole number");
  EXPECT_EQ(list_error("a 0.5\n"), "list.txt:1: the label \"0.5\" of \"a\" is not a whole number");
  EXPECT_EQ(list_error("a 99999999999\n"),
            "list.txt:1: the label \"99999999999\" of \"a\" is not a whole number");
  EXPECT_THAT(error_of([] { ImageList("/no/list.txt"); }), HasSubstr("cannot open /no/list.txt"));
}

class ImageData : public ::testing::Test {
 protected:
  ImageData() : there_(folder_.path()) {}

  /// `count` pictures of 4 x 5 and their list; the label of picture i is i.
  void make_list(int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("img {}.png", i);
      images_.push_back(noise(3, 4, 5, static_cast<unsigned>(i)));
      write_png(name, images_.back());
      list += fmt::format("{} {}\n", name, i);
    }
    write_file("list.txt", list);
    layer_.set_name("images");
    layer_.set_type("ImageData");
    layer_.add_top("data");
    layer_.add_top("label");
    layer_.mutable_image_data_param()->set_source("list.txt");
    layer_.mutable_image_data_param()->set_batch_size(2);
  }

  std::unique_ptr<BatchReader> open() { return open_image_list(layer_, caffe::TRAIN, 9); }
  std::string open_error() {
    return error_of([&] { open(); });
  }

  struct Read {
    Shape shape;
    std::vector<float> data, labels;
  };
  static Read read(BatchReader* reader) {
    reader->follow_shapes();
    const std::vector<Shape> shapes = reader->shapes(reader->batch_size());
    Read result{shapes[0], {}, {}};
    result.data.resize(static_cast<std::size_t>(shapes[0].count()));
    result.labels.resize(static_cast<std::size_t>(shapes[1].count()));
    reader->read({result.data.data(), result.labels.data()});
    return result;
  }
  static std::vector<float> labels_of_epoch(BatchReader* reader, int batches) {
    std::vector<float> labels;
    for (int i = 0; i < batches; ++i) {
      const Read batch = read(reader);
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    }
    return labels;
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  std::vector<Image> images_;
  caffe::LayerParameter layer_;
};

TEST_F(ImageData, ReadsInOrderAndWraps) {
  make_list(3);
  const auto reader = open();
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{2, 3, 4, 5}, Shape{2}));
  EXPECT_EQ(reader->records(), 3);
  const Read first = read(reader.get());
  EXPECT_THAT(first.labels, ElementsAre(0, 1));
  for (std::size_t i = 0; i < 60; ++i) {
    ASSERT_EQ(first.data[i], images_[0].bytes[i]);
    ASSERT_EQ(first.data[60 + i], images_[1].bytes[i]);
  }
  EXPECT_EQ(reader->describe(1), "img 1.png (list.txt:2)");
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(2, 0));
}

TEST_F(ImageData, ShufflesAnewEveryEpochAndGoesOnInTheMiddle) {
  make_list(12);
  layer_.mutable_image_data_param()->set_shuffle(true);
  layer_.mutable_transform_param()->set_crop_size(2);
  layer_.mutable_transform_param()->set_mirror(true);
  const auto whole = open();
  std::vector<Read> all;
  for (int i = 0; i < 18; ++i) all.push_back(read(whole.get()));
  std::vector<float> first, second;
  for (std::size_t i = 0; i < 12; ++i) first.push_back(all[i / 2].labels[i % 2]);
  for (std::size_t i = 12; i < 24; ++i) second.push_back(all[i / 2].labels[i % 2]);
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size(), 12u);
  EXPECT_EQ(std::set<float>(second.begin(), second.end()).size(), 12u);
  EXPECT_NE(first, second);
  const auto other = open();
  for (const std::size_t batch : {17u, 0u, 8u, 5u}) {
    other->seek(2 * batch);
    const Read here = read(other.get());
    EXPECT_EQ(here.labels, all[batch].labels);
    EXPECT_EQ(here.data, all[batch].data);
  }
}

TEST_F(ImageData, BeginsAtARandomLine) {
  make_list(8);
  std::set<float> firsts;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    layer_.mutable_image_data_param()->set_rand_skip(3);
    const auto reader = open_image_list(layer_, caffe::TEST, seed);
    const std::vector<float> labels = labels_of_epoch(reader.get(), 4);
    for (std::size_t i = 1; i < 8; ++i) {
      EXPECT_EQ(labels[i],
                static_cast<float>((static_cast<int>(labels[0]) + static_cast<int>(i)) % 8));
    }
    firsts.insert(labels[0]);
  }
  EXPECT_THAT(firsts, ElementsAre(0, 1, 2));
  layer_.mutable_image_data_param()->set_rand_skip(9);
  EXPECT_EQ(open_error(), "image_data_param.rand_skip is 9, but list.txt has 8 lines");
}

TEST_F(ImageData, EachBatchHasTheShapeOfItsFirstImage) {
  make_list(2);
  write_png("img 1.png", noise(3, 6, 2, 3));
  layer_.mutable_image_data_param()->set_batch_size(1);
  const auto reader = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read(reader.get()).shape, (Shape{1, 3, 4, 5}));
    EXPECT_EQ(read(reader.get()).shape, (Shape{1, 3, 6, 2}));
  }
  reader->seek(1);
  EXPECT_TRUE(reader->follow_shapes() || reader->shapes(1)[0] == (Shape{1, 3, 6, 2}));
  EXPECT_EQ(read(reader.get()).labels[0], 1);
  layer_.mutable_image_data_param()->set_batch_size(2);
  EXPECT_EQ(
      error_of([&] { read(open().get()); }),
      "list.txt:2: img 1.png: the image is 3x6x2, but the first record, which gives the batch "
      "its shape, is 3x4x5");
  layer_.mutable_transform_param()->set_crop_size(2);
  EXPECT_EQ(read(open().get()).shape, (Shape{2, 3, 2, 2}));
}

TEST_F(ImageData, ResizesAndMakesGrey) {
  make_list(2);
  write_png("img 1.png", noise(3, 6, 2, 3));
  layer_.mutable_image_data_param()->set_new_height(7);
  layer_.mutable_image_data_param()->set_new_width(3);
  layer_.mutable_image_data_param()->set_is_color(false);
  const Read batch = read(open().get());
  EXPECT_EQ(batch.shape, (Shape{2, 1, 7, 3}));
  Image gray, resized;
  read_image("img 0.png", Decode::kGray, &gray);
  resize_image(gray, 7, 3, &resized);
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(batch.data[i], resized.bytes[i]);
}

TEST_F(ImageData, MissingAndDamagedImagesAreNamedWithTheirLine) {
  make_list(4);
  write_file("img 1.png", "no picture");
  ::unlink("img 3.png");
  const auto reader = open();
  EXPECT_EQ(error_of([&] { read(reader.get()); }),
            "list.txt:2: img 1.png: the 10 bytes cannot be decoded as an image: it is of no known "
            "kind, or damaged");
  EXPECT_EQ(reader->position(), 0u);
  reader->seek(2);
  EXPECT_THAT(error_of([&] { read(reader.get()); }),
              HasSubstr("list.txt:4: cannot open img 3.png: No such file"));
  layer_.mutable_image_data_param()->set_root_folder("elsewhere/");
  EXPECT_THAT(open_error(), HasSubstr("list.txt:1: cannot open elsewhere/img 0.png: No such file"));
}

TEST_F(ImageData, ParametersThatCannotBe) {
  make_list(2);
  const caffe::LayerParameter good = layer_;
  layer_.mutable_image_data_param()->clear_source();
  EXPECT_EQ(open_error(), "image_data_param has no source");
  layer_ = good;
  layer_.mutable_image_data_param()->set_new_width(4);
  EXPECT_EQ(open_error(), "image_data_param.new_height is 0 and new_width 4; give both or neither");
  layer_ = good;
  layer_.mutable_image_data_param()->set_batch_size(0);
  EXPECT_EQ(open_error(), "image_data_param.batch_size is 0; it can be 1 to 2147483647");
  layer_ = good;
  layer_.mutable_top()->RemoveLast();
  EXPECT_EQ(open_error(), "an ImageData layer has 2 tops (the pictures, the labels), not 1");
}

}  // namespace
}  // namespace crema
