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

std::string list_error(const std::string& text, int label_count = 1) {
  const TemporaryFolder folder;
  const testing::WorkingFolder there(folder.path());
  write_file("list.txt", text);
  return error_of([&] { ImageList("list.txt", label_count); });
}

TEST(ImageList, NamesMayHoldBlanksAndLinesMayEndAsTheyLike) {
  const TemporaryFolder folder;
  write_file(
      folder / "list.txt",
      "\xef\xbb\xbf"
      "a.png 3\nmy own  cat.png 7\r\n\n  \nb.png -1 \t\nc.png\t+5\n\"Köln\" 1e1.png \t 2\nlast 0");
  const ImageList list(folder / "list.txt");
  ASSERT_EQ(list.size(), 6);
  EXPECT_EQ(list.name(0), "a.png");
  EXPECT_EQ(list.labels(0)[0], 3);
  EXPECT_EQ(list.name(1), "my own  cat.png");
  EXPECT_EQ(list.labels(1)[0], 7);
  EXPECT_EQ(list.name(2), "b.png");
  EXPECT_EQ(list.labels(2)[0], -1);
  EXPECT_EQ(list.name(3), "c.png");
  EXPECT_EQ(list.labels(3)[0], 5);
  EXPECT_EQ(list.name(4), "\"Köln\" 1e1.png");
  EXPECT_EQ(list.whole_label(4), 2);
  EXPECT_EQ(list.name(5), "last");
  EXPECT_EQ(list.where(5), folder / "list.txt:8");
  EXPECT_EQ(list.file(0, "root/x"), "root/xa.png");
  EXPECT_FALSE(list.is_folder());
  EXPECT_TRUE(list.classes().empty());
}

TEST(ImageList, LabelsMayBeSeveralAndNoWholeNumbers) {
  const TemporaryFolder folder;
  write_file(folder / "list.txt", "a 1.png 0.5 -2\t16777217 \r\nb.png 1e-2 .25 7");
  const ImageList list(folder / "list.txt", 3);
  EXPECT_EQ(list.label_count(), 3);
  EXPECT_EQ(list.name(0), "a 1.png");
  EXPECT_THAT(list.labels(0), ElementsAre(0.5f, -2, 16777216));
  EXPECT_EQ(list.name(1), "b.png");
  EXPECT_THAT(list.labels(1), ElementsAre(0.01f, 0.25f, 7));
  EXPECT_EQ(list.whole_label(0, 2), 16777217);
  EXPECT_EQ(list.whole_label(1, 2), 7);
  EXPECT_EQ(error_of([&] { list.whole_label(1, 1); }),
            "the label \".25\" of \"b.png\" is not a whole number of 32 bits");
  EXPECT_EQ(ImageList(folder / "list.txt").name(0), "a 1.png 0.5 -2");
}

TEST(ImageList, Errors) {
  EXPECT_EQ(list_error(""), "list.txt lists no images");
  EXPECT_EQ(list_error("\n \r\n"), "list.txt lists no images");
  EXPECT_EQ(list_error("a.png 1\nb.png\n"),
            "list.txt:2: \"b.png\" has no label; a line is NAME LABEL");
  EXPECT_EQ(list_error("7\n"), "list.txt:1: \"7\" has no label; a line is NAME LABEL");
  EXPECT_EQ(list_error(" 4\n"), "list.txt:1: \" 4\" has no name; a line is NAME LABEL");
  EXPECT_EQ(list_error("a b.png\n"), "list.txt:1: the label \"b.png\" of \"a\" is not a number");
  EXPECT_EQ(list_error("a 0x10\n"), "list.txt:1: the label \"0x10\" of \"a\" is not a number");
  for (const char* label : {"nan", "-inf", "1e39", "1e999"}) {
    EXPECT_EQ(
        list_error(fmt::format("a.png {}\n", label)),
        fmt::format("list.txt:1: the label \"{}\" of \"a.png\" is not a finite number", label));
  }
  EXPECT_EQ(list_error("a 1 2 3\nb 1 2\n", 3),
            "list.txt:2: \"b 1 2\" has only 2 labels; a line is NAME LABEL …, 3 labels "
            "(label_count)");
  EXPECT_EQ(list_error("b.png 1 2\n", 3),
            "list.txt:1: \"b.png 1 2\" has only 2 labels; a line is NAME LABEL …, 3 labels "
            "(label_count)");
  EXPECT_EQ(list_error("b.png x 1 2\n", 3),
            "list.txt:1: the label \"x\" of \"b.png\" is not a number; a line is NAME LABEL …, 3 "
            "labels (label_count)");
  EXPECT_EQ(list_error("a 1", 0), "label_count is 0; it must be at least 1");
  EXPECT_THAT(error_of([] { ImageList("/no/list.txt"); }), HasSubstr("cannot open /no/list.txt"));

  EXPECT_EQ(error_of([] { read_listed_file("/no/a.png 1.5"); }),
            "cannot open /no/a.png 1.5: No such file or directory; if \"1.5\" is a label, "
            "label_count has to say how many a line has");
  EXPECT_EQ(error_of([] { read_listed_file("/no/a 1.png"); }),
            "cannot open /no/a 1.png: No such file or directory");
}

TEST(ImageList, OfAFolder) {
  namespace fs = boost::filesystem;
  const TemporaryFolder folder;
  for (const char* name : {"b/2.PNG", "b/10.jpg", "a b/sub/x.jpeg", "a b/.hidden.png", "a b/z.gif",
                           "a b/notes.txt", "c/none.txt", ".git/x.png", "loose.png"}) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write_file(folder / name, "x");
  }
  const ImageList list(folder.path());
  EXPECT_TRUE(list.is_folder());
  EXPECT_THAT(list.classes(), ElementsAre("a b", "b", "c"));
  std::vector<std::string> found;
  for (std::int64_t i = 0; i < list.size(); ++i) {
    found.push_back(fmt::format("{} {}", list.name(i), list.labels(i)[0]));
  }
  EXPECT_THAT(found, ElementsAre("a b/sub/x.jpeg 0", "a b/z.gif 0", "b/10.jpg 1", "b/2.PNG 1"));
  EXPECT_EQ(list.file(2, "no/effect"), folder / "b/10.jpg");
  EXPECT_EQ(list.where(2), folder.path() + ": image 3");
  EXPECT_EQ(list.whole_label(3), 1);
  EXPECT_EQ(
      error_of([&] { ImageList(folder.path(), 2); }),
      folder.path() + " is a folder of class sub-folders, which give one label; label_count is 2");
}

TEST(ImageList, DataBasesAreNoFolders) {
  const TemporaryFolder folder;
  testing::make_lmdb(folder / "db", testing::numbered(1));
  EXPECT_EQ(error_of([&] { ImageList(folder / "db"); }),
            (folder / "db") + " is an LMDB, which a Data layer reads, and no folder of images");
}

TEST(ImageList, FoldersThatAreNone) {
  namespace fs = boost::filesystem;
  const TemporaryFolder folder;
  const std::string& path = folder.path();
  const auto error = [&] { return error_of([&] { const ImageList list(path); }); };
  const std::string no_classes = ", but no sub-folders; each class needs one with its images";
  EXPECT_EQ(error(), "folder " + path + " holds nothing" + no_classes);
  write_file(folder / "a.txt", "");
  EXPECT_EQ(error(), "folder " + path + " holds 1 file of other kinds" + no_classes);
  write_file(folder / "a.png", "");
  write_file(folder / "b.png", "");
  EXPECT_EQ(error(), "folder " + path + " holds 2 images" + no_classes);
  fs::create_directory(folder / "class");
  EXPECT_EQ(error(), "folder " + path +
                         " has 1 sub-folder for classes, but no images in them; images end in "
                         "jpg, jpeg, png, bmp, webp, tif, tiff, ppm, pgm or gif");
  fs::create_symlink("..", folder / "class/up");
  EXPECT_THAT(error(), HasSubstr("lies more than 32 folders deep; is a link its own parent?"));
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
  EXPECT_EQ(
      open_error(),
      "an ImageData layer has a top for the pictures and one or more for the labels, not 1 in "
      "all");
}

}  // namespace
}  // namespace crema
