// What holds for batches whatever the source: threads, shares, broken records, shuffling, labels.
#include <gmock/gmock.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "data/batch_reader.h"
#include "data/database.h"
#include "data/views.h"
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
using testing::noise;
using testing::numbered;
using testing::Read;
using testing::read;
using testing::Records;
using testing::TemporaryFolder;

std::unique_ptr<BatchReader> open(const caffe::LayerParameter& layer, bool skip = false,
                                  std::uint64_t seed = 5) {
  return open_data(layer, caffe::TRAIN, seed, {skip});
}

std::vector<float> labels_of_batches(BatchReader* reader, int batches) {
  std::vector<float> labels;
  for (int i = 0; i < batches; ++i) {
    const Read batch = read(reader);
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return labels;
}

/// 60 PNG files of 3 x 20 x 24 as encoded records.
class ManyPictures : public ::testing::Test {
 protected:
  ManyPictures() : layer_(data_layer(folder_ / "db", 7)) {
    Records records;
    for (int i = 0; i < 60; ++i) {
      caffe::Datum datum;
      datum.set_encoded(true);
      datum.set_data(encode_image(noise(3, 20, 24, static_cast<unsigned>(i)), "png"));
      datum.add_label(i);
      records.emplace_back(key_of(i), datum.SerializeAsString());
    }
    make_lmdb(folder_ / "db", records);
    layer_.mutable_transform_param()->set_crop_size(13);
    layer_.mutable_transform_param()->set_mirror(true);
    layer_.mutable_transform_param()->add_mean_value(100);
    layer_.mutable_data_param()->set_shuffle(true);
  }

  const TemporaryFolder folder_;
  caffe::LayerParameter layer_;
};

TEST_F(ManyPictures, BatchesDoNotDependOnTheNumberOfThreads) {
  std::vector<std::vector<float>> first;
  for (const std::size_t threads : {1, 2, 3, 8}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads + 1);
    for (const unsigned prefetch : {1u, 5u}) {
      layer_.mutable_data_param()->set_prefetch(prefetch);
      const auto reader = open(layer_);
      std::vector<std::vector<float>> batches;
      for (int i = 0; i < 20; ++i) {
        Read batch = read(reader.get());
        batches.push_back(std::move(batch.data));
        batches.push_back(std::move(batch.labels));
      }
      if (first.empty()) first = batches;
      ASSERT_EQ(batches, first) << threads << " threads, " << prefetch << " batches ahead";
    }
  }
}

// As one reader of the whole batch would: the same records, crops and mirrors.
TEST_F(ManyPictures, SharesMakeUpTheWhole) {
  const auto whole = open(layer_);
  whole->set_batch_size(9);
  std::vector<std::unique_ptr<BatchReader>> shares;
  const std::vector<int> sizes{4, 3, 2};
  int offset = 0;
  for (const int size : sizes) {
    shares.push_back(open(layer_));
    shares.back()->set_batch_size(size);
    shares.back()->set_share(offset, 9);
    offset += size;
  }
  for (int i = 0; i < 16; ++i) {  // over two ends of the source, where 9 does not divide 60
    if (i == 11) {
      for (const auto& share : shares) share->seek(9 * 20);
      whole->seek(9 * 20);
    }
    const Read expected = read(whole.get());
    Read together;
    for (const auto& share : shares) {
      const Read part = read(share.get());
      together.data.insert(together.data.end(), part.data.begin(), part.data.end());
      together.labels.insert(together.labels.end(), part.labels.begin(), part.labels.end());
      EXPECT_EQ(share->position(), whole->position());
    }
    ASSERT_EQ(together.labels, expected.labels) << i;
    ASSERT_EQ(together.data, expected.data) << i;
  }
}

class Shuffled : public ::testing::TestWithParam<caffe::DataParameter::DB> {
 protected:
  caffe::LayerParameter make(int count, unsigned batch) {
    const auto writer = create_database(folder_ / "db", GetParam());
    for (const auto& [key, value] : numbered(count)) writer->put(key, value);
    writer->finish();
    caffe::LayerParameter layer = data_layer(folder_ / "db", batch);
    layer.mutable_data_param()->set_backend(GetParam());
    return layer;
  }

  const TemporaryFolder folder_;
};

TEST_P(Shuffled, EveryRecordOnceAnEpochInAnotherOrder) {
  caffe::LayerParameter layer = make(200, 25);
  layer.mutable_data_param()->set_shuffle(true);
  std::set<std::vector<float>> orders;
  auto reader = open(layer);
  std::vector<float> all(200);
  std::iota(all.begin(), all.end(), 0.0f);
  for (int epoch = 0; epoch < 4; ++epoch) {
    std::vector<float> order = labels_of_batches(reader.get(), 8);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, all);
  }
  EXPECT_EQ(orders.size(), 4u);
  EXPECT_FALSE(orders.contains(all));
  reader.reset();  // a LevelDB can be open once
  EXPECT_FALSE(orders.contains(labels_of_batches(open(layer, false, 6).get(), 8)));
}

TEST_P(Shuffled, GoesOnWhereItStopped) {
  caffe::LayerParameter layer = make(50, 8);
  layer.mutable_data_param()->set_shuffle(true);
  const std::vector<float> labels = labels_of_batches(open(layer).get(), 20);
  for (const int batch : {0, 3, 6, 7, 13, 19}) {
    const auto resumed = open(layer);
    resumed->seek(static_cast<std::uint64_t>(8 * batch));
    const std::vector<float> expected(labels.begin() + 8 * batch, labels.begin() + 8 * batch + 8);
    EXPECT_EQ(read(resumed.get()).labels, expected) << batch;
  }
}

TEST_P(Shuffled, RandSkipBeginsSomewhere) {
  caffe::LayerParameter layer = make(50, 5);
  layer.mutable_data_param()->set_rand_skip(50);
  std::set<float> starts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto reader = open(layer, false, seed);
    const std::vector<float> labels = labels_of_batches(reader.get(), 10);
    starts.insert(labels[0]);
    for (std::size_t i = 1; i < labels.size(); ++i) {
      ASSERT_EQ(static_cast<int>(labels[i]),
                (static_cast<int>(labels[0]) + static_cast<int>(i)) % 50);
    }
  }
  EXPECT_GT(starts.size(), 10u);
  // Shuffled, an epoch still has every record once.
  layer.mutable_data_param()->set_shuffle(true);
  const std::vector<float> epoch = labels_of_batches(open(layer, false, 3).get(), 10);
  EXPECT_EQ(std::set<float>(epoch.begin(), epoch.end()).size(), 50u);
  layer.mutable_data_param()->set_rand_skip(51);
  EXPECT_EQ(error_of([&] { open(layer); }),
            "data_param.rand_skip is 51, but " + (folder_ / "db") + " has 50 records");
}

INSTANTIATE_TEST_SUITE_P(Kinds, Shuffled,
                         ::testing::Values(caffe::DataParameter::LMDB
#ifdef CREMA_LEVELDB
                                           ,
                                           caffe::DataParameter::LEVELDB
#endif
                                           ),
                         [](const auto& info) {
                           return caffe::DataParameter::DB_Name(info.param);
                         });

/// 12 records, of which `bad` are broken in one way or another.
class BrokenRecords : public ::testing::Test {
 protected:
  caffe::LayerParameter make(const std::set<int>& bad, unsigned batch) {
    Records records = numbered(12);
    int kind = 0;
    for (const int i : bad) {
      std::string& value = records[static_cast<std::size_t>(i)].second;
      switch (kind++ % 3) {
        case 0:
          value = "\xff\xff\xff";
          break;
        case 1:
          value.clear();
          break;
        default:
          value = byte_datum(1, 2, 2, 0, 0).SerializeAsString() + "\x22\x01x";
          break;
      }
    }
    make_lmdb(folder_ / "db", records);
    return data_layer(folder_ / "db", batch);
  }

  const TemporaryFolder folder_;
};

TEST_F(BrokenRecords, AreLeftOutAndCounted) {
  const auto reader = open(make({0, 5, 6}, 4), true);
  EXPECT_EQ(reader->items(), 4);
  EXPECT_TRUE(reader->follow_shapes());
  EXPECT_EQ(reader->items(), 3);
  EXPECT_THAT(reader->shapes(reader->items()), ElementsAre(Shape{3, 1, 2, 3}, Shape{3}));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(1, 2, 3));
  EXPECT_EQ(reader->describe(0), "record \"00000001\" of " + (folder_ / "db"));
  EXPECT_EQ(reader->position(), 4u);
  EXPECT_EQ(reader->skipped_count(), 1);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(4, 7));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(reader->items(), 4);
  EXPECT_EQ(reader->skipped_count(), 3);
  EXPECT_THAT(reader->skipped(), ElementsAre(HasSubstr("record \"00000000\" is not a Datum"),
                                             HasSubstr("record \"00000005\" is empty"),
                                             HasSubstr("record \"00000006\" needs 4 values")));
  // The second epoch counts them again; ten reasons are enough.
  for (int i = 0; i < 12; ++i) read(reader.get());
  EXPECT_EQ(reader->skipped_count(), 15);
  EXPECT_EQ(reader->skipped().size(), 10u);
}

TEST_F(BrokenRecords, AreErrorsWithoutThat) {
  const caffe::LayerParameter layer = make({1, 2}, 4);
  const auto reader = open(layer);
  EXPECT_THAT(error_of([&] { read(reader.get()); }), HasSubstr("\"00000001\" is not a Datum"));
  EXPECT_EQ(reader->position(), 0u);
  EXPECT_THAT(error_of([&] { read(reader.get()); }), HasSubstr("\"00000001\" is not a Datum"));
  reader->seek(4);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(4, 5, 6, 7));
}

TEST_F(BrokenRecords, ABatchOfNothingElseIsPassedOver) {
  const auto reader = open(make({4, 5, 6, 7}, 4), true);
  read(reader.get());
  EXPECT_TRUE(reader->follow_shapes());
  EXPECT_EQ(reader->items(), 0);
  reader->pass_over();
  EXPECT_EQ(reader->position(), 8u);
  EXPECT_EQ(reader->skipped_count(), 4);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(8, 9, 10, 11));
}

TEST_F(BrokenRecords, AnEpochOfNothingElseIsAnError) {
  std::set<int> all;
  for (int i = 1; i < 12; ++i) all.insert(i);
  const auto reader = open(make(all, 1), true);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0));
  for (int i = 1; i < 12; ++i) reader->pass_over();
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0));
  reader->seek(1);
  reader->set_share(0, 6);  // meets records 1 and 7 alone
  for (int i = 1; i < 12; ++i) reader->pass_over();
  EXPECT_THAT(error_of([&] { reader->pass_over(); }), HasSubstr("record \"00000007\""));
}

TEST_F(BrokenRecords, NothingElseAtAllIsAnErrorAtOnce) {
  std::set<int> all;
  for (int i = 0; i < 12; ++i) all.insert(i);
  const caffe::LayerParameter layer = make(all, 4);
  EXPECT_THAT(error_of([&] { open(layer, true); }), HasSubstr("record \"00000011\""));
}

TEST_F(BrokenRecords, OtherShapesCountAsBroken) {
  Records records = numbered(4);
  records[2].second = byte_datum(1, 2, 4, 0, 2).SerializeAsString();
  make_lmdb(folder_ / "mixed", records);
  const caffe::LayerParameter layer = data_layer(folder_ / "mixed", 4);
  const std::string error =
      (folder_ / "mixed") +
      ": record \"00000002\": the image is 1x2x4, but the first record, which "
      "gives the batch its shape, is 1x2x3";
  EXPECT_EQ(error_of([&] { read(open(layer).get()); }), error);
  const auto reader = open(layer, true);
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 1, 3));
  EXPECT_THAT(reader->skipped(), ElementsAre(error));
}

// The first record of a batch gives it its shape, whatever the first of the source has.
TEST_F(BrokenRecords, EachBatchHasItsOwnShape) {
  Records records = numbered(6);
  for (const std::size_t i : {2, 3}) {
    records[i].second =
        byte_datum(1, 3, 3, static_cast<int>(i), static_cast<int>(i)).SerializeAsString();
  }
  make_lmdb(folder_ / "mixed", records);
  const auto reader = open(data_layer(folder_ / "mixed", 2));
  EXPECT_FALSE(reader->follow_shapes());
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 1));
  EXPECT_TRUE(reader->follow_shapes());
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{2, 1, 3, 3}, Shape{2}));
  const Read other = read(reader.get());
  EXPECT_THAT(other.labels, ElementsAre(2, 3));
  EXPECT_THAT(other.data, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_TRUE(reader->follow_shapes());
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(4, 5));
}

class SeveralLabels : public ::testing::Test {
 protected:
  /// Record i has labels i, 10 + i, 20 + i, …
  caffe::LayerParameter make(const std::vector<int>& counts) {
    Records records;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      caffe::Datum datum = byte_datum(1, 1, 1, 0, 0);
      datum.clear_label();
      for (int k = 0; k < counts[i]; ++k) datum.add_label(10 * k + static_cast<int>(i));
      records.emplace_back(key_of(static_cast<int>(i)), datum.SerializeAsString());
    }
    make_lmdb(folder_ / "db", records);
    return data_layer(folder_ / "db", 2);
  }

  const TemporaryFolder folder_;
};

TEST_F(SeveralLabels, OneTopTakesAll) {
  const auto reader = open(make({3, 3}));
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{2, 1, 1, 1}, Shape{2, 3}));
  EXPECT_THAT(read(reader.get()).labels, ElementsAre(0, 10, 20, 1, 11, 21));
}

// Minerva's form.
TEST_F(SeveralLabels, AsManyTopsTakeOneEach) {
  caffe::LayerParameter layer = make({2, 2, 2});
  layer.add_top("second");
  const auto reader = open(layer);
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{2, 1, 1, 1}, Shape{2}, Shape{2}));
  float data[2], first[2], second[2];
  reader->read({data, first, second});
  EXPECT_THAT(first, ElementsAre(0, 1));
  EXPECT_THAT(second, ElementsAre(10, 11));
}

TEST_F(SeveralLabels, NumbersThatDisagree) {
  EXPECT_EQ(error_of([&] {
              read(open(make({2, 1})).get());
            }),
            (folder_ / "db") +
                ": record \"00000001\": the record has 1 label, but the first record has 2");
}

TEST_F(SeveralLabels, TopsThatDisagree) {
  caffe::LayerParameter layer = make({3});
  layer.add_top("second");
  EXPECT_EQ(
      error_of([&] { open(layer); }),
      (folder_ / "db") +
          ": record \"00000000\": the record has 3 labels, but the layer has 2 tops for them; "
          "one top takes all, as many tops as labels take one each");
}

TEST(ReadAhead, ViewsOfARecordLieBehindOneAnother) {
  const TemporaryFolder folder;
  Records records;
  for (int i = 0; i < 3; ++i) {
    records.emplace_back(key_of(i), byte_datum(1, 3, 3, 10 * i, i).SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  caffe::LayerParameter layer = data_layer(folder / "db", 2);
  layer.mutable_transform_param()->set_crop_size(2);
  const auto reader = open(layer);
  EXPECT_EQ(reader->views(), 1);
  reader->set_views(parse_views("5", ""));
  EXPECT_EQ(reader->views(), 5);
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{10, 1, 2, 2}, Shape{10}));
  const Read first = read(reader.get());
  EXPECT_THAT(first.labels, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
  // Corners and middle of 0 1 2 / 3 4 5 / 6 7 8.
  const std::vector<float> views{0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8, 0, 1, 3, 4};
  const std::vector<float> of_first(first.data.begin(), first.data.begin() + 20);
  EXPECT_EQ(of_first, views);
  EXPECT_EQ(first.data[20], 10);
  EXPECT_EQ(reader->describe(4), "record \"00000000\" of " + (folder / "db"));
  EXPECT_EQ(reader->describe(5), "record \"00000001\" of " + (folder / "db"));
  EXPECT_EQ(reader->describe(10), "");
  EXPECT_EQ(reader->position(), 2u);
}

// Two data layers side by side, as pictures and targets: never out of step.
TEST(ReadAhead, TwoReadersStayInStep) {
  const TemporaryFolder folder;
  make_lmdb(folder / "a", numbered(11));
  make_lmdb(folder / "b", numbered(11));
  for (const bool shuffle : {false, true}) {
    caffe::LayerParameter a = data_layer(folder / "a", 4), b = data_layer(folder / "b", 4);
    a.mutable_data_param()->set_shuffle(shuffle);
    b.mutable_data_param()->set_shuffle(shuffle);
    const auto first = open(a), second = open(b);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(read(first.get()).labels, read(second.get()).labels);
  }
}

}  // namespace
}  // namespace crema
