#include "data/convert_cifar.h"

#include <gmock/gmock.h>

#include "base/tool.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::contents_of;
using ::testing::ElementsAre;
using testing::error_of;
using testing::TemporaryFolder;
using testing::WorkingFolder;
using testing::write_file;
namespace fs = boost::filesystem;

constexpr auto kLmdb = caffe::DataParameter::LMDB;

std::string pixels(int which) {
  std::string bytes;
  for (int i = 0; i < 3072; ++i) bytes.push_back(static_cast<char>(which * 7 + i * 13));
  return bytes;
}

struct Record {
  std::string key;
  std::vector<int> labels;
  std::string data, value;
};

std::vector<Record> records_of(const std::string& path) {
  std::vector<Record> records;
  LmdbReader reader(path);
  while (reader.next()) {
    const std::string value(reader.value());
    caffe::Datum datum;
    EXPECT_TRUE(datum.ParseFromString(value));
    records.push_back({std::string(reader.key()),
                       {datum.label().begin(), datum.label().end()},
                       datum.data(),
                       value});
  }
  return records;
}

class Cifar : public ::testing::Test {
 protected:
  Cifar() : there_(folder_.path()) {
    fs::create_directory("ten");
    fs::create_directory("hundred");
    fs::create_directory("out");
    for (int file = 1; file <= 5; ++file) {
      write_file(fmt::format("ten/data_batch_{}.bin", file), ten(2 * file, 2));
    }
    write_file("ten/test_batch.bin", ten(20, 3));
    write_file("ten/batches.meta.txt", "airplane\nautomobile\n\n");
    std::string hundred;
    for (int i = 0; i < 4; ++i) {
      hundred += std::string{static_cast<char>(i), static_cast<char>(90 + i)} + pixels(i);
    }
    write_file("hundred/train.bin", hundred);
    write_file("hundred/test.bin", hundred.substr(0, 3074));
    write_file("hundred/fine_label_names.txt", "apple\nbear\n");
    write_file("hundred/coarse_label_names.txt", "fruit\r\nmammals\r\n");
  }

  /// Records first, first + 1, …, labelled with their last digits.
  static std::string ten(int first, int count) {
    std::string bytes;
    for (int i = first; i < first + count; ++i) bytes += static_cast<char>(i % 10) + pixels(i);
    return bytes;
  }
  static std::string ten_error() {
    const std::string text = error_of([] { convert_cifar10("ten", "out", kLmdb); });
    EXPECT_TRUE(fs::is_empty("out"));
    return text;
  }

  TemporaryFolder folder_;
  WorkingFolder there_;
};

TEST_F(Cifar, WritesCaffesRecords) {
  std::int64_t last = 0;
  const CifarRecords made =
      convert_cifar10("ten", "out", kLmdb, [&](std::int64_t done, std::int64_t all) {
        EXPECT_EQ(done, ++last);
        EXPECT_EQ(all, 13);
      });
  EXPECT_EQ(made.train, 10);
  EXPECT_EQ(made.test, 3);
  EXPECT_EQ(last, 13);
  const std::vector<Record> train = records_of("out/cifar10_train_lmdb");
  ASSERT_EQ(train.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    const Record& record = train[static_cast<std::size_t>(i)];
    EXPECT_EQ(record.key, fmt::format("{:05}", i));
    EXPECT_THAT(record.labels, ElementsAre((i + 2) % 10));
    EXPECT_EQ(record.data, pixels(i + 2));  // files begin with record 2
  }
  // channels 3, height 32, width 32, data of 3072 bytes, label 2
  EXPECT_EQ(train[0].value,
            std::string("\x08\x03\x10\x20\x18\x20\x22\x80\x18") + pixels(2) + "\x28\x02");
  const std::vector<Record> test = records_of("out/cifar10_test_lmdb");
  ASSERT_EQ(test.size(), 3u);
  EXPECT_EQ(test[0].key, "00000");
  EXPECT_EQ(test[2].data, pixels(22));
  EXPECT_EQ(contents_of("out/cifar10_test_lmdb/labels.txt"), "airplane\nautomobile\n");
}

TEST_F(Cifar, HundredClasses) {
  const struct {
    CifarLabel label;
    std::vector<int> labels;
    const char* names;
  } rows[] = {{CifarLabel::kFine, {93}, "apple\nbear\n"},
              {CifarLabel::kCoarse, {3}, "fruit\nmammals\n"},
              {CifarLabel::kBoth, {93, 3}, "apple\nbear\n"}};
  for (const auto& row : rows) {
    const CifarRecords made = convert_cifar100("hundred", "out", row.label, kLmdb);
    EXPECT_EQ(made.train, 4);
    EXPECT_EQ(made.test, 1);
    const std::vector<Record> train = records_of("out/cifar100_train_lmdb");
    EXPECT_EQ(train[3].labels, row.labels);
    EXPECT_EQ(train[3].data, pixels(3));
    EXPECT_EQ(contents_of("out/cifar100_train_lmdb/labels.txt"), row.names);
    fs::remove_all("out/cifar100_train_lmdb");
    fs::remove_all("out/cifar100_test_lmdb");
  }
}

TEST_F(Cifar, LabelNames) {
  EXPECT_EQ(cifar_label_named("both"), CifarLabel::kBoth);
  EXPECT_THROW(cifar_label_named("Fine"), UsageError);
}

TEST_F(Cifar, SaysWhatIsWrong) {
  const std::string whole = contents_of("ten/data_batch_3.bin");
  write_file("ten/data_batch_3.bin", whole.substr(0, 6000));
  EXPECT_EQ(
      ten_error(),
      "ten/data_batch_3.bin has 6000 bytes, which is no whole number of records of 3073; is it "
      "truncated?");
  write_file("ten/data_batch_3.bin", "");
  EXPECT_EQ(ten_error(),
            "ten/data_batch_3.bin has 0 bytes, which is no whole number of records of 3073; is it "
            "truncated?");
  write_file("ten/data_batch_3.bin", whole.substr(0, 3073));
  EXPECT_EQ(ten_error(),
            "ten/data_batch_3.bin has 1 records, data_batch_1.bin 2; is one of them truncated?");
  fs::remove("ten/data_batch_3.bin");
  EXPECT_EQ(ten_error(), "cannot open ten/data_batch_3.bin: No such file or directory");
  write_file("ten/data_batch_3.bin", "\x0b" + whole.substr(1));
  EXPECT_EQ(
      ten_error(),
      "ten/data_batch_3.bin: record 0 has the label 11, and there are 10 classes; is this the "
      "binary version of CIFAR-10?");
  write_file("ten/data_batch_3.bin", whole);
  fs::rename("ten/data_batch_1.bin", "ten/data_batch_1");
  EXPECT_EQ(
      ten_error(),
      "ten holds CIFAR for Python or Matlab; the binary version is needed (data_batch_1.bin)");
  fs::remove("ten/data_batch_1");
  EXPECT_EQ(ten_error(), "ten has no data_batch_1.bin; it has to be the unpacked binary version");
  EXPECT_EQ(error_of([] { convert_cifar10("none", "out", kLmdb); }), "none is not a folder");
  EXPECT_EQ(error_of([] { convert_cifar100("ten", "out", CifarLabel::kFine, kLmdb); }),
            "ten has no train.bin; it has to be the unpacked binary version");
  fs::create_directory("out/cifar100_test_lmdb");
  EXPECT_EQ(error_of([] { convert_cifar100("hundred", "out", CifarLabel::kFine, kLmdb); }),
            "out/cifar100_test_lmdb exists already; remove it first, or choose another name");
  EXPECT_FALSE(fs::exists("out/cifar100_train_lmdb"));
}

}  // namespace
}  // namespace crema
