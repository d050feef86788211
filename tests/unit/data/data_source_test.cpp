#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <thread>

#include "data/batch_reader.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::data_layer;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::key_of;
using testing::make_lmdb;
using testing::numbered;
using testing::Read;
using testing::read;
using testing::Records;
using testing::TemporaryFolder;

std::unique_ptr<BatchReader> open(const caffe::LayerParameter& layer,
                                  caffe::Phase phase = caffe::TEST) {
  return open_data(layer, phase, 5);
}

TEST(DataSource, ShapesAreKnownWithoutReading) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(7));
  const auto reader = open(data_layer(folder / "db", 4));
  EXPECT_THAT(reader->shapes(4), ElementsAre(Shape{4, 1, 2, 3}, Shape{4}));
  EXPECT_THAT(reader->shapes(1), ElementsAre(Shape{1, 1, 2, 3}, Shape{1}));
  EXPECT_EQ(reader->records(), 7);
  EXPECT_EQ(reader->batch_size(), 4);
  EXPECT_EQ(reader->position(), 0u);

  caffe::LayerParameter unlabelled = data_layer(folder / "db", 4);
  unlabelled.mutable_top()->RemoveLast();
  EXPECT_THAT(open(unlabelled)->shapes(2), ElementsAre(Shape{2, 1, 2, 3}));
}

TEST(DataSource, WrapsWithinABatchAndKnowsWhereItemsCameFrom) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(5));
  const auto reader = open(data_layer(folder / "db", 3));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 1, 2));
  const Read second = read(reader.get());
  EXPECT_THAT(second.labels, ElementsAre(3, 4, 0));
  EXPECT_THAT(second.data, ElementsAre(3, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5));
  EXPECT_EQ(reader->describe(1), "record \"00000004\" of " + folder / "db");
  EXPECT_EQ(reader->describe(2), "record \"00000000\" of " + folder / "db");
  EXPECT_EQ(reader->describe(3), "");
  EXPECT_EQ(reader->describe(-1), "");
  EXPECT_EQ(open(data_layer(folder / "db", 3))->describe(0), "");  // nothing read yet
  EXPECT_EQ(reader->position(), 6u);

  const auto large = open(data_layer(folder / "db", 12));
  EXPECT_THAT(read(large.get()).labels, ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1));
}

TEST(DataSource, LabelsAreSigned) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"a", byte_datum(1, 1, 1, 0, -3).SerializeAsString()},
                            {"b", byte_datum(1, 1, 1, 0, 1 << 20).SerializeAsString()}});
  EXPECT_THAT(read(open(data_layer(folder / "db", 2)).get()).labels, ElementsAre(-3, 1048576));
}

TEST(DataSource, SeekingIsTheSameAsReadingOn) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(11));
  caffe::LayerParameter layer = data_layer(folder / "db", 4);
  layer.mutable_transform_param()->set_crop_size(1);
  layer.mutable_transform_param()->set_mirror(true);
  const auto whole = open(layer, caffe::TRAIN);
  std::vector<Read> all;
  for (int i = 0; i < 20; ++i) all.push_back(read(whole.get()));
  const auto other = open(layer, caffe::TRAIN);
  for (const int batch : {19, 3, 0, 7}) {
    other->seek(static_cast<std::uint64_t>(4 * batch));
    EXPECT_EQ(other->position(), static_cast<std::uint64_t>(4 * batch));
    const Read here = read(other.get());
    EXPECT_EQ(here.data, all[static_cast<std::size_t>(batch)].data);
    EXPECT_EQ(here.labels, all[static_cast<std::size_t>(batch)].labels);
  }
  EXPECT_THAT(read(other.get()).data, all[8].data);
}

TEST(DataSource, AnotherBatchSizeKeepsThePosition) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(10));
  const auto reader = open(data_layer(folder / "db", 4));
  read(reader.get());
  reader->set_batch_size(3);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(4, 5, 6));
  EXPECT_EQ(reader->position(), 7u);
  reader->set_batch_size(5);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(7, 8, 9, 0, 1));
  EXPECT_EQ(reader->position(), 12u);
}

// However deep the queue, however slow either side, and whatever the batch size.
TEST(DataSource, NothingDependsOnReadingAhead) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(50));
  std::vector<float> first;
  for (const unsigned depth : {1u, 2u, 7u}) {
    for (const unsigned batch_size : {1u, 6u, 60u}) {
      caffe::LayerParameter layer = data_layer(folder / "db", batch_size);
      layer.mutable_data_param()->set_prefetch(depth);
      layer.mutable_transform_param()->set_mirror(true);
      layer.mutable_transform_param()->set_crop_size(2);
      const auto reader = open(layer, caffe::TRAIN);
      std::vector<float> all;
      while (all.size() < 120 * 4) {
        const Read next = read(reader.get());
        all.insert(all.end(), next.data.begin(), next.data.end());
        if (batch_size == 60) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      EXPECT_EQ(reader->position(), 120u);
      EXPECT_GE(reader->seconds_waiting(), 0);
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << depth << " " << batch_size;
    }
  }
}

TEST(DataSource, TwoReadersOfOneDataBase) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(6));
  const auto train = open(data_layer(folder / "db", 2), caffe::TRAIN);
  const auto test = open(data_layer(folder / "db", 3), caffe::TEST);
  EXPECT_THAT(read(train.get()).labels, ElementsAre(0, 1));
  EXPECT_THAT(read(test.get()).labels, ElementsAre(0, 1, 2));
  EXPECT_THAT(read(train.get()).labels, ElementsAre(2, 3));
}

TEST(DataSource, CloseAtAnyMoment) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(50));
  for (int i = 0; i < 50; ++i) {
    const auto reader = open(data_layer(folder / "db", 20));
    for (int reads = i % 3; reads > 0; --reads) read(reader.get());
    if (i % 5 == 0) reader->seek(7);
  }
}

// An error comes with the batch that the bad record is in, each time it is read, and never as a
// hang.
TEST(DataSource, ABadRecordFailsItsOwnBatch) {
  const TemporaryFolder folder;
  Records records = numbered(6);
  records[4].second = "";
  make_lmdb(folder / "db", records);
  const auto reader = open(data_layer(folder / "db", 2));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 1));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(2, 3));
  const std::string expected = folder / "db" + ": record \"00000004\" is empty (0 bytes)";
  EXPECT_EQ(error_of([&] { read(reader.get()); }), expected);
  EXPECT_EQ(error_of([&] { read(reader.get()); }), expected);
  EXPECT_EQ(reader->position(), 4u);
  reader->seek(6);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 1));
}

TEST(DataSource, ShapesOfLaterRecords) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", {{"a", byte_datum(3, 8, 8, 0, 0).SerializeAsString()},
                            {"b", byte_datum(3, 9, 9, 0, 1).SerializeAsString()}});
  caffe::LayerParameter layer = data_layer(folder / "db", 2);
  EXPECT_EQ(
      error_of([&] { read(open(layer).get()); }),
      folder / "db" +
          ": record \"b\": the image is 3x9x9, but the first record, which gives the batch its "
          "shape, is 3x8x8");
  layer.mutable_transform_param()->set_crop_size(8);
  EXPECT_THAT(read(open(layer).get()).labels, ElementsAre(0, 1));

  make_lmdb(folder / "small", {{"a", byte_datum(3, 8, 8, 0, 0).SerializeAsString()},
                               {"b", byte_datum(3, 9, 7, 0, 1).SerializeAsString()}});
  layer.mutable_data_param()->set_source(folder / "small");
  EXPECT_EQ(error_of([&] { read(open(layer).get()); }),
            folder / "small" +
                ": record \"b\": the image is 3x9x7, smaller than crop_size 8; "
                "resize_short_side, or resize_height and resize_width, would enlarge it");

  make_lmdb(folder / "hwc", {{"a", byte_datum(3, 8, 8, 0, 0).SerializeAsString()},
                             {"b", byte_datum(8, 8, 3, 0, 1).SerializeAsString()}});
  layer = data_layer(folder / "hwc", 2);
  EXPECT_THAT(error_of([&] { read(open(layer).get()); }),
              HasSubstr("8x8x3 looks like height x width x channels"));
  make_lmdb(folder / "grey", {{"a", byte_datum(3, 8, 8, 0, 0).SerializeAsString()},
                              {"b", byte_datum(1, 8, 8, 0, 1).SerializeAsString()}});
  layer = data_layer(folder / "grey", 2);
  layer.mutable_transform_param()->set_crop_size(8);
  EXPECT_THAT(error_of([&] { read(open(layer).get()); }),
              HasSubstr("record \"b\": the image is 1x8x8, but the first record"));
}

TEST(DataSource, FirstRecordIsCheckedAtOnce) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(2));
  caffe::LayerParameter layer = data_layer(folder / "db", 2);
  layer.mutable_transform_param()->set_crop_size(4);
  EXPECT_EQ(error_of([&] { open(layer); }),
            folder / "db" +
                ": record \"00000000\": the image is 1x2x3, smaller than crop_size 4; "
                "resize_short_side, or resize_height and resize_width, would enlarge it");
}

TEST(DataSource, ParametersThatCannotBe) {
  const TemporaryFolder folder;
  make_lmdb(folder / "db", numbered(2));
  const auto failure = [&](const auto& change) {
    caffe::LayerParameter layer = data_layer(folder / "db", 2);
    change(&layer);
    return error_of([&] { open(layer); });
  };
  using Layer = caffe::LayerParameter*;
  EXPECT_EQ(failure([](Layer layer) { layer->mutable_data_param()->clear_source(); }),
            "data_param has no source");
  EXPECT_EQ(failure([](Layer layer) { layer->mutable_data_param()->clear_batch_size(); }),
            "data_param.batch_size is 0; it can be 1 to 2147483647");
  EXPECT_EQ(failure([](Layer layer) { layer->mutable_data_param()->set_prefetch(0); }),
            "data_param.prefetch is 0; it can be 1 to 1024");
  EXPECT_EQ(failure([](Layer layer) { layer->mutable_data_param()->set_prefetch(1025); }),
            "data_param.prefetch is 1025; it can be 1 to 1024");
  EXPECT_EQ(failure([](Layer layer) { layer->clear_top(); }),
            "a Data layer has a top for the pictures and any number for the labels, this one has "
            "none");
  EXPECT_EQ(
      failure([](Layer layer) { layer->mutable_data_param()->clear_backend(); }),
      "data_param.source " + folder / "db" +
          " is an LMDB, but without backend: it is taken for a LevelDB, Caffe's default; write "
          "data_param { backend: LMDB }");
  EXPECT_EQ(failure([](Layer layer) { layer->mutable_data_param()->set_source("/no/such"); }),
            "LMDB /no/such does not exist");
}

}  // namespace
}  // namespace crema
