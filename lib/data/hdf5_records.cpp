// Rows of HDF5 files. They are read here, a few megabytes at a time: the library behind them lets
// one thread in at a time anyway.
#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/hdf5_contents.h"
#include "data/hdf5_rows.h"
#include "data/record_kinds.h"

namespace crema {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostValues = std::int64_t{1} << 29;  ///< of a row: 2 GB

/// A row of any shape as a picture: the last two axes are height and width, all before channels.
ImageView as_image(const Shape& row, const float* values) {
  const int axes = row.axes();
  ImageView image;
  image.floats = values;
  if (axes >= 2) {
    image.channels = row.count(0, axes - 2);
    image.height = row[axes - 2];
    image.width = row[axes - 1];
  } else {
    image.channels = row.count();
    image.height = image.width = 1;
  }
  return image;
}

class Hdf5Records final : public RecordStream {
 public:
  Hdf5Records(Kind kind, const std::string& path, const std::vector<std::string>& files,
              const RecordStreamOptions& options, std::string recognised_by)
      : RecordStream(kind, path, std::move(recognised_by)),
        data_name_(options.dataset),
        label_name_(options.label_dataset) {
    for (const std::string& file : files) add(file);
    require(total_ > 0, "{} holds no rows", path);
  }

  std::optional<std::int64_t> total() const override { return total_; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (i == kNoted) {
        notes.push_back(fmt::format("and {} more files", files_.size() - kNoted));
        break;
      }
      notes.push_back(
          fmt::format("{} holds {}", files_[i].path, list_datasets(files_[i].datasets)));
    }
    if (files_[0].labels == Labels::kNone) {
      notes.push_back(fmt::format("there are no labels: no dataset \"{}\"", label_name_));
    }
    return notes;
  }

  std::string where(const PackedRecord& record) const override {
    const File& file = file_of(record.index);
    return fmt::format("{}: row {}", file.path, record.index - file.first);
  }

  bool next(PackedRecord* record) override {
    while (file_ < files_.size() && row_ == files_[file_].rows) {
      data_.reset();
      labels_.reset();
      row_ = first_ = count_ = 0;
      ++file_;
    }
    if (file_ == files_.size()) return false;
    if (row_ >= first_ + count_) read_block();
    record->index = next_++;
    record->key = fmt::format("{:08}", record->index);
    copy_row(values_, files_[file_].row.count(), &record->values);
    copy_row(label_values_, label_size_, &record->labels);
    ++row_;
    return true;
  }

  void rewind() override {
    data_.reset();
    labels_.reset();
    file_ = 0;
    row_ = first_ = count_ = next_ = 0;
  }

  void unpack(const PackedRecord& packed, Record* record) const override {
    const File& file = file_of(packed.index);
    record->index = packed.index;
    record->key = packed.key;
    record->encoding = file.type;
    record->file = {};
    record->shape = file.row;
    record->image = as_image(record->shape, packed.values.data());
    record->stored_bytes = record->shape.count() * file.value_bytes;
    record->labels = packed.labels;
    record->float_labels = file.labels == Labels::kFloat;
  }

  void decode(const PackedRecord& packed, Record* record) const override {
    record->image = as_image(record->shape, packed.values.data());
  }

 private:
  enum class Labels { kNone, kWhole, kFloat };
  struct File {
    std::string path;
    std::vector<Hdf5Dataset> datasets;
    std::int64_t first = 0, rows = 0;  ///< counted over all files
    Shape row;
    std::string type;
    std::int64_t value_bytes = 4;
    Labels labels = Labels::kNone;
  };
  static constexpr std::size_t kNoted = 5;

  /// The one that holds a record.
  const File& file_of(std::int64_t index) const {
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), index,
                         [](std::int64_t i, const File& file) { return i < file.first; });
    return *(after - 1);
  }

  const Hdf5Dataset* find(const File& file, const std::string& name) const {
    const auto at = std::find_if(file.datasets.begin(), file.datasets.end(),
                                 [&](const Hdf5Dataset& dataset) { return dataset.name == name; });
    return at == file.datasets.end() ? nullptr : &*at;
  }

  void add(const std::string& path) {
    File file;
    file.path = path;
    file.datasets = hdf5_datasets(path);
    const Hdf5Dataset* data = find(file, data_name_);
    require(data != nullptr, "{} has no dataset \"{}\"; it holds {}", path, data_name_,
            list_datasets(file.datasets));
    const Hdf5Rows rows(path, data_name_);  // which checks it
    file.rows = rows.rows();
    file.first = total_;
    file.row = rows.row_shape();
    require(file.row.count() <= kMostValues, "rows of dataset \"{}\" in {} are {}: too large",
            data_name_, path, file.row.str());
    file.type = data->type;
    if (std::isdigit(static_cast<unsigned char>(data->type[0]))) {
      file.value_bytes = std::stoll(data->type) / 8;
    }
    if (const Hdf5Dataset* labels = find(file, label_name_)) {
      const Hdf5Rows label_rows(path, label_name_);
      require(label_rows.rows() == file.rows,
              "dataset \"{}\" in {} has {} rows, dataset \"{}\" has {}", label_name_, path,
              label_rows.rows(), data_name_, file.rows);
      file.labels = labels->type.ends_with("float") ? Labels::kFloat : Labels::kWhole;
    }
    if (!files_.empty()) {
      require((file.labels == Labels::kNone) == (files_[0].labels == Labels::kNone),
              "of {} and {} only one has a dataset \"{}\"", files_[0].path, path, label_name_);
    }
    total_ += file.rows;
    files_.push_back(std::move(file));
  }

  void read_block() {
    const File& file = files_[file_];
    if (!data_) data_.emplace(file.path, data_name_);
    if (!labels_ && file.labels != Labels::kNone) labels_.emplace(file.path, label_name_);
    require(data_->rows() == file.rows && data_->row_shape() == file.row,
            "dataset \"{}\" in {} has changed since it was opened", data_name_, file.path);
    const std::int64_t size = file.row.count();
    first_ = row_;
    count_ =
        std::min(std::max<std::int64_t>(kBlockBytes / (4 * std::max<std::int64_t>(size, 1)), 1),
                 file.rows - first_);
    values_.resize(static_cast<std::size_t>(count_ * size));
    data_->read(first_, count_, values_.data());
    label_size_ = 0;
    if (labels_) {
      label_size_ = labels_->row_shape().count();
      label_values_.resize(static_cast<std::size_t>(count_ * label_size_));
      labels_->read(first_, count_, label_values_.data());
    }
  }

  void copy_row(const std::vector<float>& block, std::int64_t size, std::vector<float>* row) const {
    const auto begin = block.begin() + (row_ - first_) * size;
    row->assign(begin, begin + size);
  }

  const std::string data_name_, label_name_;
  std::vector<File> files_;
  std::int64_t total_ = 0;

  std::size_t file_ = 0;
  std::int64_t row_ = 0, next_ = 0;     ///< of the file, of all
  std::int64_t first_ = 0, count_ = 0;  ///< rows in the block
  std::int64_t label_size_ = 0;
  std::vector<float> values_, label_values_;  ///< of the block
  std::optional<Hdf5Rows> data_, labels_;
};

}  // namespace

std::unique_ptr<RecordStream> open_hdf5_records(RecordStream::Kind kind, const std::string& path,
                                                const std::vector<std::string>& files,
                                                const RecordStreamOptions& options,
                                                const std::string& recognised_by) {
  return std::make_unique<Hdf5Records>(kind, path, files, options, recognised_by);
}

}  // namespace crema
