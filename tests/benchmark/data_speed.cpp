// How many records a second a data layer delivers, and how many a bare loop over the same source
// does: liblmdb or the file system, OpenCV, and nothing else. One JSON line each.
//
// data_speed.py makes the sources, runs this and PyTorch, and compares.
#include <gflags/gflags.h>
#include <hdf5.h>
#include <lmdb.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "caffe.pb.h"
#include "data/batch_reader.h"
#include "data/hdf5_writer.h"
#include "data/image.h"
#include "data/lmdb.h"

DEFINE_string(engine, "crema", "crema: a data layer; floor: a bare loop; make: make the sources");
DEFINE_string(work, "raw", "raw, jpeg, list or hdf5");
DEFINE_string(folder, "", "where the sources are");
DEFINE_int32(threads, 1, "of the data layer; the bare loop has one");
DEFINE_double(seconds, 3, "how long to measure");
DEFINE_int32(images, 4000, "pictures to make");
DEFINE_bool(shuffle, false, "of the data layer: in a new order every epoch");

namespace {

constexpr int kRawBatch = 64, kPictureBatch = 32, kSide = 256, kCrop = 227;
constexpr float kMeans[3] = {104, 117, 123};

/// A smooth picture with some noise, so that its JPEG has the size of a photograph's.
crema::Image picture(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  crema::Image image{3, kSide, kSide, {}};
  image.bytes.resize(std::size_t{3} * kSide * kSide);
  double phase[3][4];
  for (auto& channel : phase) {
    for (double& value : channel) value = static_cast<double>(random() % 1000) / 160;
  }
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const double wave = std::sin(x * 0.05 * phase[c][0] + phase[c][1]) +
                            std::cos(y * 0.05 * phase[c][2] + phase[c][3]);
        const double noise = static_cast<double>(random() % 25);
        image.bytes[static_cast<std::size_t>((c * kSide + y) * kSide + x)] =
            static_cast<std::uint8_t>(128 + 50 * wave + noise - 12);
      }
    }
  }
  return image;
}

void make() {
  const std::string& folder = FLAGS_folder;
  crema::LmdbWriter raw(folder + "/raw"), jpeg(folder + "/jpeg");
  crema::Hdf5Writer rows(folder + "/rows.h5");
  std::ofstream list(folder + "/list.txt");
  std::ofstream(folder + "/rows.txt") << folder << "/rows.h5\n";
  for (int i = 0; i < FLAGS_images * 15; ++i) {
    caffe::Datum datum;
    datum.set_channels(1);
    datum.set_height(28);
    datum.set_width(28);
    datum.add_label(i % 10);
    std::minstd_rand random(static_cast<unsigned>(i) + 1);
    for (int k = 0; k < 28 * 28; ++k) datum.mutable_data()->push_back(static_cast<char>(random()));
    raw.put(fmt::format("{:08}", i), datum.SerializeAsString());
    std::vector<float> row(datum.data().begin(), datum.data().end());
    const auto label = static_cast<float>(i % 10);
    rows.append("data", {1, 1, 28, 28}, row.data());
    rows.append("label", {1}, &label);
  }
  for (int i = 0; i < FLAGS_images; ++i) {
    const std::string file = crema::encode_image(picture(i), "jpg");
    const std::string name = fmt::format("{:08}.jpg", i);
    std::ofstream(folder + "/" + name, std::ios::binary) << file;
    list << name << ' ' << i % 10 << '\n';
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(kSide);
    datum.set_width(kSide);
    datum.set_encoded(true);
    datum.set_data(file);
    datum.add_label(i % 10);
    jpeg.put(name, datum.SerializeAsString());
  }
  raw.finish();
  jpeg.finish();
  rows.finish();
}

std::unique_ptr<crema::BatchReader> open() {
  caffe::LayerParameter layer;
  layer.set_name("data");
  layer.add_top("data");
  layer.add_top("label");
  caffe::TransformationParameter* transform = layer.mutable_transform_param();
  const bool pictures = FLAGS_work == "jpeg" || FLAGS_work == "list";
  if (pictures) {
    transform->set_crop_size(kCrop);
    transform->set_mirror(true);
    for (const float mean : kMeans) transform->add_mean_value(mean);
  } else {
    transform->set_scale(1.0f / 256);
  }
  if (FLAGS_work == "list") {
    layer.mutable_image_data_param()->set_source(FLAGS_folder + "/list.txt");
    layer.mutable_image_data_param()->set_root_folder(FLAGS_folder + "/");
    layer.mutable_image_data_param()->set_batch_size(kPictureBatch);
    layer.mutable_image_data_param()->set_shuffle(FLAGS_shuffle);
    return crema::open_image_list(layer, caffe::TRAIN, 1);
  }
  if (FLAGS_work == "hdf5") {
    layer.clear_transform_param();
    layer.mutable_hdf5_data_param()->set_source(FLAGS_folder + "/rows.txt");
    layer.mutable_hdf5_data_param()->set_batch_size(kRawBatch);
    layer.mutable_hdf5_data_param()->set_shuffle(FLAGS_shuffle);
    return crema::open_hdf5(layer, caffe::TRAIN, 1);
  }
  layer.mutable_data_param()->set_source(FLAGS_folder + "/" + FLAGS_work);
  layer.mutable_data_param()->set_backend(caffe::DataParameter::LMDB);
  layer.mutable_data_param()->set_batch_size(pictures ? kPictureBatch : kRawBatch);
  layer.mutable_data_param()->set_shuffle(FLAGS_shuffle);
  return crema::open_data(layer, caffe::TRAIN, 1);
}

/// A batch at a time into one place, by the functions that everybody would take.
class Floor {
 public:
  Floor() {
    cv::setNumThreads(1);
    if (FLAGS_work == "raw" || FLAGS_work == "jpeg") open_lmdb();
    if (FLAGS_work == "list") {
      std::ifstream list(FLAGS_folder + "/list.txt");
      for (std::string name, label; list >> name >> label;) files_.push_back(name);
    }
    if (FLAGS_work == "hdf5") {
      file_ = H5Fopen((FLAGS_folder + "/rows.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
      data_ = H5Dopen2(file_, "data", H5P_DEFAULT);
      label_ = H5Dopen2(file_, "label", H5P_DEFAULT);
      hsize_t dims[4];
      const hid_t space = H5Dget_space(data_);
      H5Sget_simple_extent_dims(space, dims, nullptr);
      H5Sclose(space);
      rows_ = dims[0];
    }
  }

  int batch() {
    if (FLAGS_work == "hdf5") return hdf5_batch();
    const int size = FLAGS_work == "raw" ? kRawBatch : kPictureBatch;
    for (int i = 0; i < size; ++i) {
      if (FLAGS_work == "list") {
        std::ifstream in(FLAGS_folder + "/" + files_[next_++ % files_.size()], std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
        decode(bytes_.data(), bytes_.size(), i);
        continue;
      }
      const bool first = next_++ == 0;
      if (mdb_cursor_get(cursor_, &key_, &value_, first ? MDB_FIRST : MDB_NEXT) != 0) {
        mdb_cursor_get(cursor_, &key_, &value_, MDB_FIRST);
      }
      datum_.ParseFromArray(value_.mv_data, static_cast<int>(value_.mv_size));
      labels_[i] = static_cast<float>(datum_.label(0));
      if (FLAGS_work == "jpeg") {
        decode(datum_.data().data(), datum_.data().size(), i);
      } else {
        const cv::Mat image(28, 28, CV_8UC1, const_cast<char*>(datum_.data().data()));
        cv::Mat out(28, 28, CV_32FC1, batch_.data() + i * 28 * 28);
        image.convertTo(out, CV_32FC1, 1.0 / 256);
      }
    }
    return size;
  }

 private:
  void open_lmdb() {
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    mdb_env_create(&environment);
    mdb_env_open(environment, (FLAGS_folder + "/" + FLAGS_work).c_str(), MDB_RDONLY | MDB_NOLOCK,
                 0664);
    mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction);
    mdb_dbi_open(transaction, nullptr, 0, &database);
    mdb_cursor_open(transaction, database, &cursor_);
  }

  void decode(const char* bytes, std::size_t size, int place) {
    const cv::Mat file(1, static_cast<int>(size), CV_8UC1, const_cast<char*>(bytes));
    cv::Mat image = cv::imdecode(file, cv::IMREAD_COLOR);
    const int y = static_cast<int>(random_() % (kSide - kCrop + 1));
    const int x = static_cast<int>(random_() % (kSide - kCrop + 1));
    image = image(cv::Rect(x, y, kCrop, kCrop));
    if (random_() % 2) cv::flip(image, image, 1);
    cv::Mat floats;
    image.convertTo(floats, CV_32FC3);
    cv::subtract(floats, cv::Scalar(kMeans[0], kMeans[1], kMeans[2]), floats);
    std::vector<cv::Mat> planes;
    for (int c = 0; c < 3; ++c) {
      planes.emplace_back(kCrop, kCrop, CV_32FC1, batch_.data() + (place * 3 + c) * kCrop * kCrop);
    }
    cv::split(floats, planes);
  }

  int hdf5_batch() {
    if (next_ + kRawBatch > rows_) next_ = 0;
    read(data_, {next_, 0, 0, 0}, {kRawBatch, 1, 28, 28}, batch_.data());
    read(label_, {next_}, {kRawBatch}, labels_);
    next_ += kRawBatch;
    return kRawBatch;
  }

  static void read(hid_t from, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                   float* to) {
    const hid_t space = H5Dget_space(from);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const hid_t memory = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
    H5Dread(from, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, to);
    H5Sclose(memory);
    H5Sclose(space);
  }

  std::vector<float> batch_ = std::vector<float>(std::size_t{kPictureBatch} * 3 * kCrop * kCrop);
  float labels_[kRawBatch] = {};
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{}, value_{};
  caffe::Datum datum_;
  std::vector<std::string> files_;
  std::vector<char> bytes_;
  std::minstd_rand random_;
  hid_t file_ = -1, data_ = -1, label_ = -1;
  hsize_t rows_ = 0, next_ = 0;
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void measure(const std::function<int()>& batch) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](double seconds) {
    std::int64_t records = 0;
    const auto begin = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds)
      records += batch();
    return records;
  };
  run(FLAGS_seconds / 4);  // files get into the page cache, memory is touched
  const auto begin = Clock::now();
  const double used = processor_seconds();
  const auto records = static_cast<double>(run(FLAGS_seconds));
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const nlohmann::json line{
      {"engine", FLAGS_engine},
      {"work", FLAGS_work},
      {"threads", FLAGS_threads},
      {"records_per_second", records / wall},
      {"records_per_processor_second", records / (processor_seconds() - used)},
      {"peak_mib", static_cast<double>(usage.ru_maxrss) / 1024}};
  std::puts(line.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  try {
    if (FLAGS_engine == "make") {
      make();
    } else if (FLAGS_engine == "floor") {
      Floor floor;
      measure([&] { return floor.batch(); });
    } else {
      const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(FLAGS_threads) + 1);
      const auto reader = open();
      std::vector<std::vector<float>> tops;
      for (const crema::Shape& shape : reader->shapes(reader->batch_size())) {
        tops.emplace_back(static_cast<std::size_t>(shape.count()));
      }
      const std::vector<float*> pointers{tops[0].data(), tops[1].data()};
      measure([&] {
        reader->follow_shapes();
        reader->read(pointers);
        return reader->batch_size();
      });
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "data_speed: %s\n", error.what());
    return 1;
  }
  return 0;
}
