// A file of CIFAR is a row of records without a header: one label (CIFAR-10) or two (CIFAR-100:
// coarse, fine), then 3072 bytes.
#include "data/convert_cifar.h"

#include <boost/filesystem.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/signals.h"
#include "base/tool.h"
#include "data/convert_images.h"
#include "data/database.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

constexpr int kSize = 32;
constexpr std::size_t kPixels = 3 * kSize * kSize;
constexpr int kClasses10 = 10, kFine = 100, kCoarse = 20;

bool is_file(const std::string& path) {
  boost::system::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// A file's records, checked.
class CifarFile {
 public:
  /// `limits`: how many classes each of a record's labels tells apart.
  CifarFile(const std::string& path, std::vector<int> limits)
      : bytes_(read_file(path)), labels_(limits.size()) {
    require(!bytes_.empty() && bytes_.size() % record_size() == 0,
            "{} has {} bytes, which is no whole number of records of {}; is it truncated?", path,
            bytes_.size(), record_size());
    for (std::int64_t i = 0; i < count(); ++i) {
      for (std::size_t k = 0; k < labels_; ++k) {
        require(label(i, k) < limits[k],
                "{}: record {} has the label {}, and there are {} classes; is this the binary "
                "version of CIFAR-{}?",
                path, i, label(i, k), limits[k], labels_ == 1 ? 10 : 100);
      }
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(bytes_.size() / record_size()); }
  int label(std::int64_t i, std::size_t k) const {
    return static_cast<unsigned char>(bytes_[begin(i) + k]);
  }
  std::string_view pixels(std::int64_t i) const {
    return std::string_view(bytes_).substr(begin(i) + labels_, kPixels);
  }

 private:
  std::size_t record_size() const { return labels_ + kPixels; }
  std::size_t begin(std::int64_t i) const { return static_cast<std::size_t>(i) * record_size(); }

  std::string bytes_;
  std::size_t labels_;
};

/// Fails when the folder has the version for Python or Matlab, or none.
void check_version(const std::string& folder, const std::string& needed,
                   const std::string& python_file) {
  if (is_file(folder + "/" + needed)) return;
  boost::system::error_code ignored;
  require(fs::is_directory(folder, ignored), "{} is not a folder", folder);
  const bool other =
      is_file(folder + "/" + python_file) || is_file(folder + "/" + python_file + ".mat");
  require(!other, "{} holds CIFAR for Python or Matlab; the binary version is needed ({})", folder,
          needed);
  fail("{} has no {}; it has to be the unpacked binary version", folder, needed);
}

/// The lines of a file of names without empty ones, "" if there is no such file.
std::string names_in(const std::string& path) {
  if (!is_file(path)) return "";
  std::string names;
  const std::string text = read_text_file(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names += line + "\n";
  }
  return names;
}

/// Two data bases, of which both are kept or none.
class Output {
 public:
  Output(const std::string& out, const std::string& set, caffe::DataParameter::DB backend,
         CifarProgress progress)
      : train_(create_database(path(out, set, "train", backend), backend)),
        test_(create_database(path(out, set, "test", backend), backend)),
        progress_(std::move(progress)) {}

  /// Which of a record's labels a Datum gets.
  using Labels = std::vector<std::size_t>;

  void write(const std::vector<CifarFile>& train, const CifarFile& test, const Labels& labels) {
    for (const CifarFile& file : train) all_ += file.count();
    all_ += test.count();
    std::int64_t key = 0;
    for (const CifarFile& file : train) {
      for (std::int64_t i = 0; i < file.count(); ++i) put(file, i, labels, key++, train_.get());
    }
    for (std::int64_t i = 0; i < test.count(); ++i) put(test, i, labels, i, test_.get());
  }

  void finish(const std::string& names) {
    if (!names.empty()) {
      train_->attach(kLabelsFile, names);
      test_->attach(kLabelsFile, names);
    }
    finish_all({train_.get(), test_.get()});
  }

 private:
  static std::string path(const std::string& out, const std::string& set, const std::string& part,
                          caffe::DataParameter::DB backend) {
    const char* const kind = backend == caffe::DataParameter::LMDB ? "lmdb" : "leveldb";
    return fmt::format("{}/{}_{}_{}", out, set, part, kind);
  }

  void put(const CifarFile& file, std::int64_t i, const Labels& labels, std::int64_t key,
           DatabaseWriter* writer) {
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(kSize);
    datum.set_width(kSize);
    for (const std::size_t k : labels) datum.add_label(file.label(i, k));
    datum.set_data(std::string(file.pixels(i)));
    writer->put(fmt::format("{:05}", key), datum.SerializeAsString());
    ++done_;
    if (progress_) progress_(done_, all_);
    signals_.check();
  }

  StopOnSignal signals_;  // before there is anything to clear away
  std::unique_ptr<DatabaseWriter> train_, test_;
  CifarProgress progress_;
  std::int64_t done_ = 0, all_ = 0;
};

}  // namespace

CifarLabel cifar_label_named(const std::string& name) {
  if (name == "fine") return CifarLabel::kFine;
  if (name == "coarse") return CifarLabel::kCoarse;
  if (name == "both") return CifarLabel::kBoth;
  throw UsageError(fmt::format("--label is \"{}\"; it can be fine, coarse or both", name));
}

CifarRecords convert_cifar10(const std::string& folder, const std::string& out,
                             caffe::DataParameter::DB backend, const CifarProgress& progress) {
  check_version(folder, "data_batch_1.bin", "data_batch_1");
  Output output(out, "cifar10", backend, progress);
  std::vector<CifarFile> train;
  CifarRecords records;
  for (int number = 1; number <= 5; ++number) {
    const std::string path = fmt::format("{}/data_batch_{}.bin", folder, number);
    train.emplace_back(path, std::vector<int>{kClasses10});
    require(train.back().count() == train[0].count(),
            "{} has {} records, data_batch_1.bin {}; is one of them truncated?", path,
            train.back().count(), train[0].count());
    records.train += train.back().count();
  }
  const CifarFile test(folder + "/test_batch.bin", {kClasses10});
  records.test = test.count();
  output.write(train, test, {0});
  output.finish(names_in(folder + "/batches.meta.txt"));
  return records;
}

CifarRecords convert_cifar100(const std::string& folder, const std::string& out, CifarLabel label,
                              caffe::DataParameter::DB backend, const CifarProgress& progress) {
  check_version(folder, "train.bin", "train");
  Output output(out, "cifar100", backend, progress);
  std::vector<CifarFile> train;
  train.emplace_back(folder + "/train.bin", std::vector<int>{kCoarse, kFine});
  const CifarFile test(folder + "/test.bin", {kCoarse, kFine});
  Output::Labels labels{1};
  if (label == CifarLabel::kCoarse) labels = {0};
  if (label == CifarLabel::kBoth) labels = {1, 0};
  output.write(train, test, labels);
  output.finish(names_in(folder + (label == CifarLabel::kCoarse ? "/coarse_label_names.txt"
                                                                : "/fine_label_names.txt")));
  return {train[0].count(), test.count()};
}

}  // namespace crema
