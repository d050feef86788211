// "HDF5Data": rows of the datasets that are named like the tops, out of a list of files.
//
// One file is open at a time. Of each dataset a few megabytes of rows are in memory: the next ones,
// or, when rows are shuffled, the whole dataset if it is small, else single rows.
#include <algorithm>
#include <boost/filesystem.hpp>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/batch_source.h"
#include "data/hdf5_rows.h"
#include "data/permutation.h"
#include "proto/file_kind.h"

namespace crema {
namespace {

constexpr std::int64_t kSequentialBytes = std::int64_t{4} << 20;  ///< read at once
constexpr std::int64_t kShuffledBytes = std::int64_t{64}
                                        << 20;  ///< a file this small is held whole

std::vector<std::string> listed_files(const std::string& list) {
  // Only the beginning: it may be large.
  std::string head(8, '\0');
  boost::system::error_code ignored;
  if (boost::filesystem::is_regular_file(list, ignored)) {
    std::ifstream(list, std::ios::binary).read(head.data(), 8);
  }
  require(kind_of(head) != FileKind::kHdf5,
          "source is a text file that lists HDF5 files; {} is an HDF5 file itself", list);
  std::istringstream in(read_text_file(list));
  std::vector<std::string> names;
  for (std::string name; in >> name;) names.push_back(name);
  require(!names.empty(), "{} lists no HDF5 files", list);
  return names;
}

class Hdf5Source : public BatchSource {
 public:
  Hdf5Source(const std::string& list, std::vector<std::string> tops, bool shuffle,
             std::uint64_t seed, const std::string& layer_name)
      : list_(list),
        files_(listed_files(list)),
        tops_(std::move(tops)),
        shuffle_(shuffle),
        seed_(seed),
        layer_name_(layer_name) {
    with_context([&] { return list_; }, [&] { measure(); });
  }

  const std::vector<Shape>& item_shapes() const override { return item_shapes_; }
  std::int64_t records() const override { return total_; }

  void seek(std::uint64_t position) override {
    const auto total = static_cast<std::uint64_t>(total_);
    begin_epoch(position / total);
    row_ = static_cast<std::int64_t>(position % total);
    for (place_ = 0; row_ >= file_rows_[file_at(place_)]; ++place_)
      row_ -= file_rows_[file_at(place_)];
    close();
  }

  void read(int count, const std::vector<float*>& tops, RecordOrigin* origins) override {
    for (int i = 0; i < count; ++i, ++row_) {
      while (row_ >= file_rows_[file_at(place_)]) next_file();
      const std::size_t file = file_at(place_);
      with_context([&] { return list_; }, [&] { open(file); });
      const std::int64_t row = rows_order_ ? (*rows_order_)[row_] : row_;
      origins[i].file = file;
      origins[i].row = row;
      for (std::size_t top = 0; top < tops.size(); ++top) {
        const std::int64_t size = item_shapes_[top].count();
        copy_row(&opened_[top], row, size, tops[top] + i * size);
      }
    }
  }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("row {} of {}", origin.row, files_[origin.file]);
  }

 private:
  /// A top's dataset in the file that is open, and the rows of it that are in memory.
  struct Opened {
    Hdf5Rows rows;
    std::int64_t capacity;
    std::int64_t first = 0, count = 0;
    std::vector<float> cache{};
  };

  /// Opens every file once: shapes must agree before the first batch, not hours later.
  void measure() {
    for (const std::string& file : files_) {
      for (std::size_t top = 0; top < tops_.size(); ++top) {
        const Hdf5Rows rows(file, tops_[top]);
        if (item_shapes_.size() == top) item_shapes_.push_back(rows.row_shape());
        require(item_shapes_[top] == rows.row_shape(),
                "rows of dataset \"{}\" are {} in {}, but {} in {}", tops_[top],
                rows.row_shape().str(), file, item_shapes_[top].str(), files_[0]);
        if (top == 0) file_rows_.push_back(rows.rows());
        require(rows.rows() == file_rows_.back(),
                "dataset \"{}\" in {} has {} rows, dataset \"{}\" has {}", tops_[top], file,
                rows.rows(), tops_[0], file_rows_.back());
      }
      total_ += file_rows_.back();
    }
    require(total_ > 0, "the files hold no rows");
  }

  std::size_t file_at(std::size_t place) const {
    return files_order_
               ? static_cast<std::size_t>((*files_order_)[static_cast<std::int64_t>(place)])
               : place;
  }

  void begin_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
    if (!shuffle_) return;
    files_order_.emplace(RandomStream(seed_, stream_id(layer_name_, 1)), epoch,
                         static_cast<std::int64_t>(files_.size()));
  }

  void next_file() {
    row_ = 0;
    close();
    if (++place_ < files_.size()) return;
    place_ = 0;
    begin_epoch(epoch_ + 1);
  }

  void close() {
    open_file_.reset();
    opened_.clear();
  }

  void open(std::size_t file) {
    if (open_file_ == file) return;
    close();
    if (shuffle_) {
      rows_order_.emplace(RandomStream(seed_, stream_id(layer_name_, 2 + file)), epoch_,
                          file_rows_[file]);
    }
    for (std::size_t top = 0; top < tops_.size(); ++top) {
      const std::int64_t row_bytes = std::max<std::int64_t>(item_shapes_[top].count() * 4, 1);
      std::int64_t capacity = std::max<std::int64_t>(kSequentialBytes / row_bytes, 1);
      if (shuffle_)
        capacity = kShuffledBytes / row_bytes >= file_rows_[file] ? file_rows_[file] : 1;
      opened_.push_back({Hdf5Rows(files_[file], tops_[top], shuffle_ && capacity == 1), capacity});
      const Hdf5Rows& rows = opened_.back().rows;
      require(rows.rows() == file_rows_[file] && rows.row_shape() == item_shapes_[top],
              "dataset \"{}\" in {} has changed since the net was built", tops_[top], files_[file]);
    }
    open_file_ = file;
  }

  static void copy_row(Opened* from, std::int64_t row, std::int64_t size, float* out) {
    if (from->capacity == 1) {
      from->rows.read(row, 1, out);
      return;
    }
    if (row < from->first || row >= from->first + from->count) {
      // All of it when it is shuffled: capacity is then the whole file.
      from->first = from->capacity == from->rows.rows() ? 0 : row;
      from->count = std::min(from->capacity, from->rows.rows() - from->first);
      from->cache.resize(static_cast<std::size_t>(from->count * size));
      from->rows.read(from->first, from->count, from->cache.data());
    }
    const auto begin = from->cache.begin() + (row - from->first) * size;
    std::copy(begin, begin + size, out);
  }

  const std::string list_;
  const std::vector<std::string> files_, tops_;
  const bool shuffle_;
  const std::uint64_t seed_;
  const std::string layer_name_;

  std::vector<Shape> item_shapes_;
  std::vector<std::int64_t> file_rows_;  ///< by file
  std::int64_t total_ = 0;

  std::uint64_t epoch_ = 0;
  std::optional<Permutation> files_order_, rows_order_;
  std::size_t place_ = 0;  ///< in the epoch's order of files
  std::int64_t row_ = 0;   ///< in the order of the file's rows
  std::optional<std::size_t> open_file_;
  std::vector<Opened> opened_;  ///< by top
};

}  // namespace

std::unique_ptr<BatchReader> open_hdf5(const caffe::LayerParameter& layer, std::uint64_t seed) {
  const caffe::HDF5DataParameter& param = layer.hdf5_data_param();
  require(!layer.has_transform_param(),
          "transform_param has no effect on HDF5 data: transform the values in the file, or with "
          "layers behind this one");
  require(layer.top_size() > 0, "an HDF5Data layer needs a top for each dataset, it has none");
  require(!param.source().empty(), "hdf5_data_param has no source");
  const int batch_size = positive_int(param.batch_size(), "hdf5_data_param.batch_size");
  return read_ahead(
      std::make_unique<Hdf5Source>(param.source(),
                                   std::vector<std::string>(layer.top().begin(), layer.top().end()),
                                   param.shuffle(), seed, layer.name()),
      batch_size, 0);
}

}  // namespace crema
