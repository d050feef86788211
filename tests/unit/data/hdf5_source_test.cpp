#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "base/files.h"
#include "data/batch_reader.h"
#include "data/hdf5_rows.h"
#include "fixtures.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::write_file;

/// Datasets `data` (rows x 2: row r holds first + r and its negative) and `label` (rows: first +
/// r).
void make_file(const std::string& path, int rows, int first) {
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::create_in_memory();
  std::vector<float> data, labels;
  for (int r = 0; r < rows; ++r) {
    labels.push_back(static_cast<float>(first + r));
    data.push_back(static_cast<float>(first + r));
    data.push_back(static_cast<float>(-first - r));
  }
  hdf5::write_floats(file, "data", {rows, 2}, data.data());
  hdf5::write_floats(file, "label", {rows}, labels.data());
  write_file_atomically(path, hdf5::image(file));
}

void make_dataset(const std::string& path, const std::string& name, hid_t file_type,
                  const std::vector<hsize_t>& dims, const void* values, hid_t memory_type) {
  const Hdf5Lock lock;
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = dims.empty()
                          ? H5Screate(H5S_SCALAR)
                          : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Fclose(file);
}

caffe::LayerParameter hdf5_layer(const std::string& source, unsigned batch_size,
                                 bool shuffle = false,
                                 const std::vector<std::string>& tops = {"data", "label"}) {
  caffe::LayerParameter layer;
  layer.set_name("data");
  layer.set_type("HDF5Data");
  for (const std::string& top : tops) layer.add_top(top);
  layer.mutable_hdf5_data_param()->set_source(source);
  layer.mutable_hdf5_data_param()->set_batch_size(batch_size);
  if (shuffle) layer.mutable_hdf5_data_param()->set_shuffle(true);
  return layer;
}

std::vector<float> read_labels(BatchReader* reader) {
  const auto shapes = reader->shapes(reader->batch_size());
  std::vector<float> data(static_cast<std::size_t>(shapes[0].count()));
  std::vector<float> labels(static_cast<std::size_t>(shapes[1].count()));
  reader->read({data.data(), labels.data()});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(data[2 * i], labels[i]);  // tops stay together
    EXPECT_EQ(data[2 * i + 1], -labels[i]);
  }
  return labels;
}

/// Three files of 3, 4 and 5 rows, holding 0..2, 3..6 and 7..11.
class Hdf5Source : public ::testing::Test {
 protected:
  Hdf5Source() {
    make_file(folder_ / "a.h5", 3, 0);
    make_file(folder_ / "b.h5", 4, 3);
    make_file(folder_ / "c.h5", 5, 7);
    write_file(list_, folder_ / "a.h5" + "\r\n\n  " + folder_ / "b.h5" + "\t" + folder_ / "c.h5");
  }

  std::string open_error(const caffe::LayerParameter& layer) {
    return error_of([&] { open_hdf5(layer, caffe::TRAIN, 1); });
  }
  /// For one file of the list.
  std::string file_error(const std::string& file, const std::vector<std::string>& tops = {"data"}) {
    write_file(folder_ / "one.txt", file);
    return open_error(hdf5_layer(folder_ / "one.txt", 1, false, tops));
  }

  const TemporaryFolder folder_;
  const std::string list_ = folder_ / "list.txt";
};

TEST_F(Hdf5Source, RunsAcrossFilesAndWraps) {
  const auto reader = open_hdf5(hdf5_layer(list_, 5), caffe::TRAIN, 1);
  EXPECT_THAT(reader->shapes(5), ElementsAre(Shape{5, 2}, Shape{5}));
  EXPECT_EQ(reader->records(), 12);
  EXPECT_THAT(read_labels(reader.get()), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(reader->describe(3), "row 0 of " + folder_ / "b.h5");
  EXPECT_THAT(read_labels(reader.get()), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(read_labels(reader.get()), ElementsAre(10, 11, 0, 1, 2));
  EXPECT_EQ(reader->position(), 15u);
}

TEST_F(Hdf5Source, ShufflingGivesEachRowOnceAnEpochFileByFile) {
  const auto reader = open_hdf5(hdf5_layer(list_, 12, true), caffe::TRAIN, 1);
  std::set<std::vector<float>> orders;
  for (int epoch = 0; epoch < 30; ++epoch) {
    std::vector<float> labels = read_labels(reader.get());
    orders.insert(labels);
    // Rows of a file stay together.
    const auto file_of = [](float label) { return label < 3 ? 0 : label < 7 ? 1 : 2; };
    int changes = 0;
    for (std::size_t i = 1; i < labels.size(); ++i) {
      changes += file_of(labels[i]) != file_of(labels[i - 1]);
    }
    EXPECT_EQ(changes, 2);
    std::sort(labels.begin(), labels.end());
    for (int i = 0; i < 12; ++i) ASSERT_EQ(labels[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(orders.size(), 30u);
}

TEST_F(Hdf5Source, SeekingIsTheSameAsReadingOn) {
  for (const bool shuffle : {false, true}) {
    const auto whole = open_hdf5(hdf5_layer(list_, 5, shuffle), caffe::TRAIN, 1);
    std::vector<std::vector<float>> all;
    for (int i = 0; i < 12; ++i) all.push_back(read_labels(whole.get()));
    const auto other = open_hdf5(hdf5_layer(list_, 5, shuffle), caffe::TRAIN, 1);
    for (const std::size_t batch : {11, 2, 0, 6, 7}) {
      other->seek(5 * batch);
      EXPECT_EQ(read_labels(other.get()), all[batch]) << shuffle << batch;
    }
    other->set_batch_size(10);
    std::vector<float> both = all[8];
    both.insert(both.end(), all[9].begin(), all[9].end());
    EXPECT_EQ(read_labels(other.get()), both);
  }
  EXPECT_NE(read_labels(open_hdf5(hdf5_layer(list_, 12, true), caffe::TRAIN, 1).get()),
            read_labels(open_hdf5(hdf5_layer(list_, 12, true), caffe::TRAIN, 2).get()));
}

// More than what is held in memory at once: rows of 1 MB, in order and shuffled.
TEST_F(Hdf5Source, RowsThatDoNotFitIntoTheCache) {
  constexpr int kRows = 70, kSize = 1 << 18;
  std::vector<std::uint8_t> bytes(std::size_t{kRows} * kSize);
  for (int r = 0; r < kRows; ++r) {
    std::fill_n(bytes.begin() + std::ptrdiff_t{r} * kSize, kSize, static_cast<std::uint8_t>(r));
  }
  make_dataset(folder_ / "big.h5", "data", H5T_STD_U8LE, {kRows, kSize}, bytes.data(),
               H5T_NATIVE_UINT8);
  write_file(list_, folder_ / "big.h5");
  for (const bool shuffle : {false, true}) {
    const auto reader = open_hdf5(hdf5_layer(list_, 1, shuffle, {"data"}), caffe::TRAIN, 1);
    std::vector<float> row(kSize);
    std::vector<int> seen;
    for (int i = 0; i < kRows; ++i) {
      reader->read({row.data()});
      EXPECT_EQ(row.front(), row.back());
      seen.push_back(static_cast<int>(row[0]));
    }
    EXPECT_EQ(std::is_sorted(seen.begin(), seen.end()), !shuffle);
    const std::vector<int> order = seen;
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < kRows; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
    const auto resumed = open_hdf5(hdf5_layer(list_, 1, shuffle, {"data"}), caffe::TRAIN, 1);
    for (const int place : {60, 3, 33, 69, 0, 32}) {
      resumed->seek(static_cast<std::uint64_t>(place));
      resumed->read({row.data()});
      EXPECT_EQ(static_cast<int>(row[0]), order[static_cast<std::size_t>(place)]);
    }
  }
}

TEST_F(Hdf5Source, PicturesAreTransformed) {
  std::vector<std::uint8_t> bytes(std::size_t{3} * 2 * 4 * 5);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  make_dataset(folder_ / "a.h5", "data", H5T_STD_U8LE, {3, 2, 4, 5}, bytes.data(),
               H5T_NATIVE_UINT8);
  write_file(list_, folder_ / "a.h5");
  caffe::LayerParameter layer = hdf5_layer(list_, 2, false, {"data"});
  layer.mutable_transform_param()->set_crop_size(2);
  layer.mutable_transform_param()->set_scale(0.5f);
  layer.mutable_transform_param()->add_mean_value(1);
  layer.mutable_transform_param()->add_mean_value(2);
  const auto reader = open_hdf5(layer, caffe::TEST, 1);
  EXPECT_THAT(reader->shapes(2), ElementsAre(Shape{2, 2, 2, 2}));
  std::vector<float> out(16);
  reader->read({out.data()});
  // The middle begins at row 1, column 1 of 4 x 5; the second channel at 20, the second row at 40.
  EXPECT_THAT(out, ElementsAre(2.5f, 3, 5, 5.5f, 12, 12.5f, 14.5f, 15, 22.5f, 23, 25, 25.5f, 32,
                               32.5f, 34.5f, 35));
  layer.mutable_transform_param()->set_crop_size(5);
  EXPECT_EQ(error_of([&] { open_hdf5(layer, caffe::TEST, 1); }),
            list_ +
                ": dataset \"data\": the image is 2x4x5, smaller than crop_size 5; "
                "resize_short_side, or resize_height and resize_width, would enlarge it");
}

TEST_F(Hdf5Source, EveryNumericTypeConverts) {
  const std::vector<double> values{1, 0, 1};
  const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  for (const hid_t type : {H5T_STD_U8LE, H5T_STD_I8BE, H5T_STD_I32LE, H5T_STD_U64BE, H5T_STD_I64LE,
                           half, H5T_IEEE_F32BE, H5T_IEEE_F64LE}) {
    make_dataset(folder_ / "t.h5", "data", type, {3}, values.data(), H5T_NATIVE_DOUBLE);
    write_file(list_, folder_ / "t.h5");
    const auto reader = open_hdf5(hdf5_layer(list_, 3, false, {"data"}), caffe::TRAIN, 1);
    std::vector<float> out(3);
    reader->read({out.data()});
    EXPECT_THAT(out, ElementsAre(1, 0, 1));
  }
  H5Tclose(half);

  // Booleans as h5py stores them.
  const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1, bytes[3] = {1, 0, 1};
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  make_dataset(folder_ / "t.h5", "data", boolean, {3}, bytes, boolean);
  H5Tclose(boolean);
  std::vector<float> out(3);
  open_hdf5(hdf5_layer(list_, 3, false, {"data"}), caffe::TRAIN, 1)->read({out.data()});
  EXPECT_THAT(out, ElementsAre(1, 0, 1));
}

TEST_F(Hdf5Source, RelativeNamesStartAtTheWorkingFolder) {
  const testing::WorkingFolder there(folder_.path());
  write_file(list_, "a.h5");
  EXPECT_EQ(open_hdf5(hdf5_layer("list.txt", 1), caffe::TRAIN, 1)->records(), 3);
  write_file(list_, "no.h5");
  EXPECT_EQ(open_error(hdf5_layer("list.txt", 1)),
            "list.txt: HDF5 file no.h5 does not exist (in " + folder_.path() + ")");
}

TEST_F(Hdf5Source, ListsAndParametersThatCannotBe) {
  EXPECT_EQ(open_error(hdf5_layer("", 1)), "hdf5_data_param has no source");
  EXPECT_EQ(open_error(hdf5_layer(list_, 0)),
            "hdf5_data_param.batch_size is 0; it can be 1 to 2147483647");
  EXPECT_EQ(open_error(hdf5_layer(list_, 1, false, {})),
            "an HDF5Data layer needs a top for each dataset, it has none");
  caffe::LayerParameter layer = hdf5_layer(list_, 1);
  layer.mutable_transform_param()->set_scale(2);
  EXPECT_EQ(open_error(layer),
            "transform_param is for pictures, but a row of dataset \"data\" is 2, not channels x "
            "height x width");
  EXPECT_THAT(open_error(hdf5_layer(folder_ / "no.txt", 1)), HasSubstr(folder_ / "no.txt"));
  write_file(list_, "\n \r\n");
  EXPECT_EQ(open_error(hdf5_layer(list_, 1)), list_ + " lists no HDF5 files");
}

TEST_F(Hdf5Source, FilesThatCannotBe) {
  const std::string one = folder_ / "one.txt: ";
  EXPECT_EQ(file_error(folder_.path()),
            one + folder_.path() + " is not an HDF5 file: it is not a regular file");
  write_file(folder_ / "text", "no HDF5");
  EXPECT_THAT(file_error(folder_ / "text"),
              HasSubstr("cannot open " + folder_ / "text" + " as an HDF5 file: "));
  const std::string whole = testing::contents_of(folder_ / "c.h5");
  write_file(folder_ / "cut.h5", whole.substr(0, whole.size() - 8));
  EXPECT_THAT(file_error(folder_ / "cut.h5"), HasSubstr("truncated file"));
  EXPECT_EQ(file_error(folder_ / "a.h5", {"data", "weight"}),
            one + folder_ / "a.h5" + " has no dataset \"weight\"");
  EXPECT_EQ(file_error(folder_ / "a.h5", {"no/such"}),
            one + folder_ / "a.h5" + " has no dataset \"no/such\"");

  const float values[6] = {};
  make_dataset(folder_ / "s.h5", "data", H5T_NATIVE_FLOAT, {}, values, H5T_NATIVE_FLOAT);
  EXPECT_EQ(file_error(folder_ / "s.h5"), one + "dataset \"data\" in " + folder_ / "s.h5" +
                                              " has no axes; axis 0 has to count the rows");
  make_dataset(folder_ / "s.h5", "data", H5T_C_S1, {3}, "abc", H5T_C_S1);
  EXPECT_EQ(file_error(folder_ / "s.h5"),
            one + "dataset \"data\" in " + folder_ / "s.h5" + " holds strings, not numbers");

  {
    const Hdf5Lock lock;
    const hdf5::Handle file = hdf5::create_in_memory();
    hdf5::write_floats(file, "data", {2, 3}, values);
    hdf5::write_floats(file, "label", {3}, values);
    hdf5::write_floats(file, "none", {0, 3}, values);
    write_file_atomically(folder_ / "u.h5", hdf5::image(file));
  }
  EXPECT_EQ(
      file_error(folder_ / "u.h5", {"data", "label"}),
      one + "dataset \"label\" in " + folder_ / "u.h5" + " has 3 rows, dataset \"data\" has 2");
  EXPECT_EQ(file_error(folder_ / "u.h5", {"none"}), one + "the files hold no rows");
  EXPECT_EQ(file_error(folder_ / "a.h5" + " " + folder_ / "u.h5"),
            one + "rows of dataset \"data\" are 3 in " + folder_ / "u.h5" + ", but 2 in " +
                folder_ / "a.h5");
}

TEST_F(Hdf5Source, AFileThatGoesAwayFailsTheRead) {
  const auto reader = open_hdf5(hdf5_layer(list_, 3), caffe::TRAIN, 1);
  boost::filesystem::remove(folder_ / "b.h5");
  EXPECT_THAT(read_labels(reader.get()), ElementsAre(0, 1, 2));
  EXPECT_EQ(error_of([&] { read_labels(reader.get()); }),
            list_ + ": HDF5 file " + folder_ / "b.h5" + " does not exist");
  make_file(folder_ / "b.h5", 9, 3);
  EXPECT_EQ(
      error_of([&] { read_labels(reader.get()); }),
      list_ + ": dataset \"data\" in " + folder_ / "b.h5" + " has changed since the net was built");
}

}  // namespace
}  // namespace crema
