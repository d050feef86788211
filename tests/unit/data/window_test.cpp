// Window files, where windows come from and go to, and the batches that WindowData makes of them.
#include <gmock/gmock.h>

#include <set>

#include "data/batch_reader.h"
#include "data/window_list.h"
#include "fixtures.h"
#include "proto/blobs.h"
#include "proto/io.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::noise;
using testing::TemporaryFolder;
using testing::write_file;

TEST(WindowList, IsWordsWhereverLinesEnd) {
  const TemporaryFolder folder;
  write_file(folder / "w",
             "# 0\na.png\n3\n40\n50\n2\n1 0.75 1 2 30 20\n2 0.1 -5 6 20 21\r\n# 1 b.png 1 9 9 1\n"
             "7 1 0 0 8 8");
  const WindowList list(folder / "w");
  EXPECT_THAT(list.images, ElementsAre("a.png", "b.png"));
  ASSERT_EQ(list.windows.size(), 3u);
  EXPECT_EQ(list.windows[1].x1, -5);
  EXPECT_EQ(list.windows[1].y2, 21);
  EXPECT_EQ(list.windows[1].line, 8);
  EXPECT_EQ(list.windows[1].overlap, 0.1f);
  EXPECT_EQ(list.windows[2].image, 1);
  EXPECT_EQ(list.windows[2].label, 7);
}

TEST(WindowList, Errors) {
  const TemporaryFolder folder;
  const testing::WorkingFolder there(folder.path());
  const auto failure = [](const std::string& text) {
    write_file("w", text);
    return error_of([] { WindowList("w"); });
  };
  EXPECT_EQ(failure(""), "w holds no windows");
  EXPECT_EQ(failure("# 0\na.png\n3\n4\n5\n0\n"), "w holds no windows");
  EXPECT_EQ(failure("a.png"), "w:1: an image begins with \"# INDEX\", not with \"a.png\"");
  EXPECT_EQ(failure("# 0\na.png\n3\n4\n5\n1\n1 0.5 1 2 3"),
            "w:7: the file ends where a window's y2 should come");
  EXPECT_EQ(failure("# 0\na.png\n3\n4\n5\n1\n1 0.5 1 2.5 3 4"), "w:7: a window's y1 is \"2.5\"");
  EXPECT_EQ(failure("# 0\na.png\n3\n4\n5\n1\n1 0.5 4 2 3 4"),
            "w:7: the window from (4, 2) to (3, 4) is empty");
}

WindowList::Window window(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2) {
  WindowList::Window result;
  result.x1 = x1;
  result.y1 = y1;
  result.x2 = x2;
  result.y2 = y2;
  return result;
}

std::vector<std::int64_t> all(const WindowPlacement& at) {
  return {at.x, at.y, at.source_width, at.source_height, at.left, at.top, at.width, at.height};
}

TEST(WindowPlacement, PlainWindowsFillTheCrop) {
  EXPECT_THAT(all(place_window(window(2, 3, 11, 7), {8, 0, false}, 20, 30, false)),
              ElementsAre(2, 3, 10, 5, 0, 0, 8, 8));
  EXPECT_THAT(all(place_window(window(-2, 3, 31, 40), {8, 0, false}, 20, 30, false)),
              ElementsAre(0, 3, 30, 17, 0, 0, 8, 8));
  EXPECT_EQ(error_of([] {
              place_window(window(30, 0, 32, 4), {8, 0, false}, 20, 30, false);
            }),
            "the window from (30, 0) to (32, 4) lies outside the image of 20x30");
}

TEST(WindowPlacement, ContextEnlargesAndLeavesEmptyWhatIsOutside) {
  // Crop 8 with 2 pixels of context on each side: twice as large. Centre (2, 10), half 4 x 6.
  // Columns -2 .. 6, 9 in all, 2 of them outside; rows 4 .. 16, 13 in all.
  const auto at = place_window(window(0, 7, 3, 12), {8, 2, false}, 20, 30, false);
  EXPECT_THAT(all(at), ElementsAre(0, 4, 7, 13, 2, 0, 6, 8));  // 2 * 8 / 9 and 7 * 8 / 9, rounded
  const auto flipped = place_window(window(0, 7, 3, 12), {8, 2, false}, 20, 30, true);
  EXPECT_THAT(all(flipped), ElementsAre(0, 4, 7, 13, 0, 0, 6, 8));
  // Square: half 3 in both directions.
  const auto square = place_window(window(10, 7, 11, 12), {8, 0, true}, 20, 30, false);
  EXPECT_THAT(all(square), ElementsAre(8, 7, 7, 7, 0, 0, 8, 8));
}

class WindowData : public ::testing::Test {
 protected:
  WindowData() : there_(folder_.path()) {
    // Both pictures have one colour, so that the values tell which one a window is of.
    image_ = noise(3, 10, 12, 1);
    std::fill(image_.bytes.begin(), image_.bytes.end(), 100);
    testing::write_png("a.png", image_);
    std::fill(image_.bytes.begin(), image_.bytes.end(), 200);
    testing::write_png("b.png", image_);
    write_file("w",
               "# 0\na.png\n3\n10\n12\n2\n4 0.9 1 1 6 6\n5 0.5 0 0 11 9\n"
               "# 1\nb.png\n3\n10\n12\n2\n9 0.2 2 2 8 8\n9 0.4 3 2 8 8\n");
    layer_.set_name("windows");
    layer_.add_top("data");
    layer_.add_top("label");
    layer_.mutable_transform_param()->set_crop_size(4);
    layer_.mutable_window_data_param()->set_source("w");
    layer_.mutable_window_data_param()->set_batch_size(8);
    layer_.mutable_window_data_param()->set_bg_threshold(0.3f);
  }

  std::string open_error() {
    return error_of([&] { open_windows(layer_, 1); });
  }

  struct Read {
    std::vector<float> data, labels;
  };
  static Read read(BatchReader* reader) {
    Read result;
    result.data.resize(8 * 48);
    result.labels.resize(8);
    reader->read({result.data.data(), result.labels.data()});
    return result;
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  Image image_;
  caffe::LayerParameter layer_;
};

TEST_F(WindowData, BackgroundFirstThenForeground) {
  layer_.mutable_window_data_param()->set_scale(0.5f);
  layer_.mutable_transform_param()->add_mean_value(20);
  for (const bool cached : {false, true}) {
    layer_.mutable_window_data_param()->set_cache_images(cached);
    const auto reader = open_windows(layer_, 1);
    EXPECT_THAT(reader->shapes(8), ElementsAre(Shape{8, 3, 4, 4}, Shape{8}));
    std::set<float> foreground;
    for (int batch = 0; batch < 10; ++batch) {
      const Read read = this->read(reader.get());
      for (std::size_t i = 0; i < 8; ++i) {
        const bool front = i >= 6;  // a quarter
        if (front) {
          foreground.insert(read.labels[i]);
        } else {
          EXPECT_EQ(read.labels[i], 0);
        }
        for (std::size_t k = 0; k < 48; ++k) ASSERT_EQ(read.data[48 * i + k], front ? 40 : 90);
      }
      EXPECT_THAT(reader->describe(0), HasSubstr("a window of b.png (w:15)"));
    }
    EXPECT_THAT(foreground, ElementsAre(4, 5));
  }
}

TEST_F(WindowData, GoesOnWhereItWas) {
  layer_.mutable_transform_param()->set_mirror(true);
  const auto whole = open_windows(layer_, 3);
  std::vector<Read> batches;
  for (int i = 0; i < 6; ++i) batches.push_back(read(whole.get()));
  const auto other = open_windows(layer_, 3);
  other->seek(32);
  const Read fifth = read(other.get());
  EXPECT_EQ(fifth.labels, batches[4].labels);
  EXPECT_EQ(fifth.data, batches[4].data);
}

TEST_F(WindowData, EmptyPartsAreZeroWithoutMean) {
  write_file("w", "# 0\na.png\n3\n10\n12\n1\n4 0.9 0 0 3 3\n");
  layer_.mutable_window_data_param()->set_fg_fraction(1);
  layer_.mutable_window_data_param()->set_context_pad(1);  // twice as large: -2 .. 6 of 9
  caffe::BlobProto mean;
  const std::vector<float> values(3 * 6 * 8, 30);
  to_proto(Shape{3, 6, 8}, values.data(), &mean);
  write_binary(mean, "mean.binaryproto");
  layer_.mutable_transform_param()->set_mean_file("mean.binaryproto");
  const auto reader = open_windows(layer_, 1);
  const Read batch = read(reader.get());
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 4; ++x) {
      EXPECT_EQ(batch.data[4 * y + x], y == 0 || x == 0 ? 0 : 70) << y << " " << x;
    }
  }
}

TEST_F(WindowData, Errors) {
  const caffe::LayerParameter good = layer_;
  layer_.mutable_transform_param()->clear_crop_size();
  EXPECT_EQ(open_error(), "transform_param.crop_size is 0; windows need 1 to 32768");
  layer_ = good;
  layer_.mutable_window_data_param()->set_context_pad(2);
  EXPECT_EQ(open_error(),
            "window_data_param.context_pad is 2 on each side: nothing is left of crop_size 4");
  layer_ = good;
  layer_.mutable_window_data_param()->set_crop_mode("round");
  EXPECT_EQ(open_error(),
            "window_data_param.crop_mode is \"round\"; it can be \"warp\" or \"square\"");
  layer_ = good;
  layer_.mutable_transform_param()->set_rotation(5);
  EXPECT_EQ(open_error(), "transform_param.rotation has no effect on WindowData");
  layer_ = good;
  layer_.mutable_window_data_param()->set_fg_fraction(1.5f);
  EXPECT_EQ(open_error(), "window_data_param.fg_fraction is 1.5; it can be 0 to 1");
  layer_ = good;
  layer_.mutable_transform_param()->add_mean_value(1);
  layer_.mutable_transform_param()->add_mean_value(1);
  EXPECT_EQ(open_error(),
            "transform_param has 2 mean_value; give one, or one for each of the 3 channels");
  layer_ = good;
  layer_.mutable_window_data_param()->set_bg_threshold(0.1f);
  EXPECT_EQ(error_of([&] { read(open_windows(layer_, 1).get()); }),
            "w has no background windows (window_data_param.bg_threshold), but a batch needs some");
  write_file("w", "# 0\na.png\n3\n10\n12\n1\n0 0.9 1 1 6 6\n");
  EXPECT_EQ(open_error(),
            "w:7: the window overlaps by 0.9, so it is foreground, but its class is 0; "
            "classes count from 1");
  write_file("w", "# 0\nno.png\n3\n10\n12\n1\n0 0 1 1 6 6\n");
  layer_ = good;
  layer_.mutable_window_data_param()->set_fg_fraction(0);
  EXPECT_THAT(error_of([&] { read(open_windows(layer_, 1).get()); }),
              HasSubstr("w:7: cannot open no.png: No such file"));
}

}  // namespace
}  // namespace crema
