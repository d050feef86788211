// "HDF5Data": rows of the datasets that are named like the tops, out of a list of files.
//
// One file is open at a time. Rows are read in blocks of a few megabytes, which the records of a
// batch share. When rows are shuffled, a file that is small is one block; of a larger one the order
// of blocks is drawn, and rows are shuffled among some blocks that follow each other in it: random
// enough to train with, while the disk reads long pieces and memory stays bounded.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/batch_source.h"
#include "data/hdf5_list.h"
#include "data/hdf5_rows.h"
#include "data/permutation.h"
#include "data/row_order.h"
#include "data/transform.h"

namespace crema {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{2} << 20;  ///< read at once
constexpr std::int64_t kBlocksTogether = RowOrder::kBlocksTogether;
constexpr std::size_t kRetired = 4;  ///< blocks kept to be used again
constexpr std::int64_t kShuffledBytes = kBlockBytes * kBlocksTogether;  ///< of a file in one block
constexpr std::int64_t kMostBlockBytes = std::int64_t{64} << 20;        ///< for chunks of many rows

class Hdf5Source final : public BatchSource {
 public:
  Hdf5Source(const caffe::LayerParameter& layer, Transformer transformer, std::uint64_t seed)
      : list_(layer.hdf5_data_param().source()),
        files_(read_hdf5_list(list_)),
        tops_(layer.top().begin(), layer.top().end()),
        shuffle_(layer.hdf5_data_param().shuffle()),
        transforming_(layer.has_transform_param()),
        transformer_(std::move(transformer)),
        seed_(seed),
        layer_name_(layer.name()) {
    with_context([&] { return list_; }, [&] { measure(); });
    if (transforming_) {
      require(is_picture(),
              "transform_param is for pictures, but a row of dataset \"{}\" is {}, not channels x "
              "height x width",
              tops_[0], row_shapes_[0].str());
      with_context([&] { return fmt::format("{}: dataset \"{}\"", list_, tops_[0]); },
                   [&] { item_shapes_[0] = transformer_.output_shape(row_shapes_[0]); });
    }
  }

  const std::vector<Shape>& item_shapes() const override { return item_shapes_; }
  std::int64_t records() const override { return total_; }

  void set_views(const Views& views) override {
    require(is_picture(), "{}: a row of dataset \"{}\" is {}, no picture to take views of", list_,
            tops_[0], row_shapes_[0].str());
    transformer_.set_views(views);
    transforming_ = true;
    item_shapes_[0] = transformer_.output_shape(row_shapes_[0]);
  }
  int views() const override { return transformer_.views(); }

  std::unique_ptr<Record> new_record() const override { return std::make_unique<RowRecord>(); }
  std::unique_ptr<Workspace> new_workspace() const override {
    return std::make_unique<RowWorkspace>();
  }

  void seek(std::uint64_t position) override {
    const auto total = static_cast<std::uint64_t>(total_);
    if (!epoch_ || *epoch_ != position / total) {
      begin_epoch(position / total);
      order_.reset();
    }
    row_ = static_cast<std::int64_t>(position % total);
    for (place_ = 0; row_ >= file_rows_[file_at(place_)]; ++place_)
      row_ -= file_rows_[file_at(place_)];
    if (open_file_ && *open_file_ != file_at(place_)) close();
  }

  void fetch(Record* fetched) override {
    auto& record = *static_cast<RowRecord*>(fetched);
    while (row_ >= file_rows_[file_at(place_)]) next_file();
    const std::size_t file = file_at(place_);
    with_context([&] { return list_; }, [&] { open(file); });
    const std::int64_t row = (*order_)[row_];
    record.origin.file = file;
    record.origin.row = row;
    record.block = block_of(row);
    ++row_;
  }

  void finish(const Record& fetched, Workspace* workspace, ItemTarget* target) const override {
    const auto& record = static_cast<const RowRecord&>(fetched);
    const std::vector<float*>& tops = target->regular();
    const std::int64_t row = record.origin.row - record.block->first;
    for (std::size_t top = 0; top < tops.size(); ++top) {
      const Shape& shape = row_shapes_[top];
      const float* const from = record.block->tops[top].data() + row * shape.count();
      if (top == 0 && transforming_) {
        const ImageView image{shape[0], shape[1], shape[2], nullptr, from};
        auto& work = *static_cast<RowWorkspace*>(workspace);
        with_context(
            [&] { return where(record.origin); },
            [&] { transformer_.transform(image, record.position, &work.transforming, tops[0]); });
        continue;
      }
      const auto count = static_cast<std::size_t>(shape.count());
      for (int view = 0; view < views() && count > 0; ++view) {
        std::memcpy(tops[top] + static_cast<std::size_t>(view) * count, from,
                    count * sizeof(float));
      }
    }
  }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("row {} of {}", origin.row, files_[origin.file]);
  }

 private:
  /// Rows of one file, by top.
  struct Block {
    std::int64_t first = 0, count = 0;
    std::vector<std::vector<float>> tops;
  };
  struct RowRecord final : Record {
    std::shared_ptr<const Block> block;
  };
  struct RowWorkspace final : Workspace {
    Transformer::Workspace transforming;
  };

  bool is_picture() const { return row_shapes_[0].axes() == 3; }

  /// Opens every file once: shapes must agree before the first batch, not hours later.
  void measure() {
    for (const std::string& file : files_) {
      for (std::size_t top = 0; top < tops_.size(); ++top) {
        const Hdf5Rows rows(file, tops_[top]);
        if (row_shapes_.size() == top) row_shapes_.push_back(rows.row_shape());
        require(row_shapes_[top] == rows.row_shape(),
                "rows of dataset \"{}\" are {} in {}, but {} in {}", tops_[top],
                rows.row_shape().str(), file, row_shapes_[top].str(), files_[0]);
        if (top == 0) file_rows_.push_back(rows.rows());
        require(rows.rows() == file_rows_.back(),
                "dataset \"{}\" in {} has {} rows, dataset \"{}\" has {}", tops_[top], file,
                rows.rows(), tops_[0], file_rows_.back());
      }
      total_ += file_rows_.back();
    }
    require(total_ > 0, "the files hold no rows");
    item_shapes_ = row_shapes_;
    for (const Shape& shape : row_shapes_) {
      row_bytes_ += shape.count() * static_cast<std::int64_t>(sizeof(float));
    }
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
    begin_epoch(*epoch_ + 1);
  }

  void close() {
    open_file_.reset();
    opened_.clear();
    blocks_.clear();
    order_.reset();
  }

  void open(std::size_t file) {
    if (open_file_ == file && order_) return;
    close();
    std::int64_t chunk_rows = 1;
    for (std::size_t top = 0; top < tops_.size(); ++top) {
      const Hdf5Rows& rows = opened_.emplace_back(files_[file], tops_[top]);
      require(rows.rows() == file_rows_[file] && rows.row_shape() == row_shapes_[top],
              "dataset \"{}\" in {} has changed since the net was built", tops_[top], files_[file]);
      chunk_rows = std::max(chunk_rows, rows.chunk_rows());
    }
    block_rows_ = rows_of_a_block(file_rows_[file], chunk_rows);
    if (shuffle_) {
      order_.emplace(file_rows_[file], block_rows_,
                     RandomStream(seed_, stream_id(layer_name_, 2 + file)), *epoch_);
    } else {
      order_.emplace(file_rows_[file], block_rows_);
    }
    open_file_ = file;
  }

  /// Whole chunks, since a chunk is read, and unpacked, for any row of it.
  std::int64_t rows_of_a_block(std::int64_t rows, std::int64_t chunk_rows) const {
    const std::int64_t row_bytes = std::max<std::int64_t>(row_bytes_, 1);
    if (shuffle_ && rows <= kShuffledBytes / row_bytes) return rows;
    const std::int64_t wanted = std::max<std::int64_t>(kBlockBytes / row_bytes, 1);
    const std::int64_t whole = (wanted + chunk_rows - 1) / chunk_rows * chunk_rows;
    return std::max(std::min(whole, std::max(kMostBlockBytes / row_bytes, wanted)),
                    std::int64_t{1});
  }

  /// The block that holds a row, read if it is not there.
  std::shared_ptr<const Block> block_of(std::int64_t row) {
    const std::int64_t first = row / block_rows_ * block_rows_;
    const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const auto& block) { return block->first == first; });
    if (found != blocks_.end()) {
      // The one in use last comes first.
      std::rotate(blocks_.begin(), found, found + 1);
      return blocks_.front();
    }
    const std::shared_ptr<Block> block = spare_block();
    block->first = first;
    block->count = std::min(block_rows_, opened_.front().rows() - first);
    for (std::size_t top = 0; top < tops_.size(); ++top) {
      std::vector<float>& values = block->tops[top];
      values.resize(static_cast<std::size_t>(block->count * row_shapes_[top].count()));
      opened_[top].read(first, block->count, values.data());
    }
    blocks_.insert(blocks_.begin(), block);
    const auto kept = static_cast<std::size_t>(shuffle_ ? kBlocksTogether : 1);
    if (blocks_.size() > kept) {
      retired_.push_back(std::move(blocks_.back()));
      blocks_.pop_back();
      if (retired_.size() > kRetired) retired_.erase(retired_.begin());
    }
    return block;
  }

  /// Memory that no record uses any more, if there is some: new memory costs as much as reading.
  /// (Only fetch() makes and drops uses of a block.)
  std::shared_ptr<Block> spare_block() {
    const auto unused = std::find_if(retired_.begin(), retired_.end(),
                                     [](const auto& block) { return block.use_count() == 1; });
    if (unused == retired_.end()) {
      auto block = std::make_shared<Block>();
      block->tops.resize(tops_.size());
      return block;
    }
    std::shared_ptr<Block> block = std::move(*unused);
    retired_.erase(unused);
    return block;
  }

  const std::string list_;
  const std::vector<std::string> files_, tops_;
  const bool shuffle_;
  bool transforming_;
  Transformer transformer_;
  const std::uint64_t seed_;
  const std::string layer_name_;

  std::vector<Shape> row_shapes_, item_shapes_;
  std::int64_t row_bytes_ = 0;           ///< as floats, all tops
  std::vector<std::int64_t> file_rows_;  ///< by file
  std::int64_t total_ = 0;

  std::optional<std::uint64_t> epoch_;
  std::optional<Permutation> files_order_;
  std::size_t place_ = 0;  ///< in the epoch's order of files
  std::int64_t row_ = 0;   ///< in the order of the file's rows
  std::optional<std::size_t> open_file_;
  std::vector<Hdf5Rows> opened_;  ///< by top
  std::optional<RowOrder> order_;
  std::int64_t block_rows_ = 1;
  std::vector<std::shared_ptr<Block>> blocks_;   ///< in use last comes first
  std::vector<std::shared_ptr<Block>> retired_;  ///< perhaps still in use by records
};

}  // namespace

std::unique_ptr<BatchReader> open_hdf5(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed, const ReaderOptions& reading) {
  const caffe::HDF5DataParameter& param = layer.hdf5_data_param();
  require(layer.top_size() > 0, "an HDF5Data layer needs a top for each dataset, it has none");
  require(!param.source().empty(), "hdf5_data_param has no source");
  ReadAheadOptions options;
  options.batch_size = positive_int(param.batch_size(), "hdf5_data_param.batch_size");
  options.reading = reading;
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(std::make_unique<Hdf5Source>(layer, std::move(transformer), seed), options);
}

}  // namespace crema
