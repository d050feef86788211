// "Data": pictures and labels out of a data base.
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/database.h"
#include "data/datum.h"
#include "data/image_source.h"
#include "data/permutation.h"
#include "data/record_name.h"

namespace crema {
namespace {

constexpr std::uint32_t kMostBatches = 1024;  ///< of prefetch: all of them stay in memory

class DataSource final : public ImageSource {
 public:
  DataSource(const caffe::LayerParameter& layer, Transformer transformer, std::uint64_t seed,
             const ReaderOptions& reading)
      : ImageSource(std::move(transformer), layer.top_size() - 1, false),
        reader_(open_database(layer.data_param().source(), layer.data_param().backend())),
        shuffle_(layer.data_param().shuffle()),
        shuffling_(seed, stream_id(layer.name(), 1)) {
    if (const std::uint32_t skip = layer.data_param().rand_skip(); skip > 0) {
      require(skip <= static_cast<std::uint64_t>(records()),
              "data_param.rand_skip is {}, but {} has {} records", skip, reader_->path(),
              records());
      first_ = RandomStream(seed, stream_id(layer.name(), 2)).below(0, 0, skip);
    }
    measure(reading);
  }

  std::int64_t records() const override { return reader_->records(); }

  std::unique_ptr<Record> new_record() const override { return std::make_unique<DatabaseRecord>(); }
  std::unique_ptr<Workspace> new_workspace() const override {
    return std::make_unique<DatumWorkspace>();
  }

  void seek(std::uint64_t position) override {
    if (shuffle_) {
      next_ = position;
      return;
    }
    position += first_;
    const bool ahead = placed_ && position >= next_;
    std::uint64_t steps = ahead ? position - next_ : position;
    next_ = position;
    placed_ = true;
    if (!ahead) reader_->rewind();
    // Without a need nobody asks a LevelDB for its number of records.
    if (steps == 0) return;
    const auto all = static_cast<std::uint64_t>(records());
    const std::uint64_t from = position - steps;
    if (from % all == 0 || from / all != position / all) {
      reader_->rewind();
      steps = position % all;
    }
    reader_->skip(static_cast<std::int64_t>(steps));
  }

  void fetch(Record* record) override {
    if (shuffle_) {
      reader_->go_to(shuffled(next_));
    } else if (!reader_->next()) {
      reader_->next();  // there is at least one record
    }
    ++next_;
    record->origin.key = reader_->key();
    reader_->locate(&static_cast<DatabaseRecord*>(record)->value);
  }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("{} of {}", record_name(origin.key), reader_->path());
  }
  std::string where(const RecordOrigin& origin) const override {
    return fmt::format("{}: {}", reader_->path(), record_name(origin.key));
  }

 private:
  struct DatabaseRecord final : Record {
    StoredValue value;
  };
  struct DatumWorkspace final : PictureWorkspace {
    std::string buffer;
    caffe::Datum datum;
  };

  std::int64_t shuffled(std::uint64_t place) {
    const auto all = static_cast<std::uint64_t>(records());
    const std::uint64_t epoch = place / all;
    if (!order_ || epoch != epoch_) order_.emplace(shuffling_, epoch, records());
    epoch_ = epoch;
    return (*order_)[static_cast<std::int64_t>((place + first_) % all)];
  }

  void load(const Record& record, PictureWorkspace* workspace) const override {
    auto& work = *static_cast<DatumWorkspace*>(workspace);
    const std::string& key = record.origin.key;
    const std::string_view value =
        reader_->load(key, static_cast<const DatabaseRecord&>(record).value, &work.buffer);
    with_context([&] { return reader_->path(); }, [&] { parse_datum(key, value, &work.datum); });
    with_context(
        [&] { return where(record.origin); },
        [&] { work.image = image_of(work.datum, transformer().decoding(), &work.decoded); });
    labels_of(work.datum, &work.labels);
  }

  const std::unique_ptr<DatabaseReader> reader_;
  const bool shuffle_;
  const RandomStream shuffling_;
  std::uint64_t first_ = 0;  ///< of rand_skip
  /// The next record to fetch; in the source's own order `first_` is included.
  std::uint64_t next_ = 0;
  bool placed_ = false;  ///< the reader stands before it
  std::uint64_t epoch_ = 0;
  std::optional<Permutation> order_;
};

}  // namespace

std::unique_ptr<BatchReader> open_data(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed, const ReaderOptions& reading) {
  const caffe::DataParameter& param = layer.data_param();
  require(layer.top_size() >= 1,
          "a Data layer has a top for the pictures and any number for the labels, this one has "
          "none");
  require(!param.source().empty(), "data_param has no source");
  require(
      param.has_backend() || database_kind(param.source()) != "LMDB",
      "data_param.source {} is an LMDB, but without backend: it is taken for a LevelDB, Caffe's "
      "default; write data_param {{ backend: LMDB }}",
      param.source());
  ReadAheadOptions options;
  options.batch_size = positive_int(param.batch_size(), "data_param.batch_size");
  if (param.has_prefetch()) {
    require(param.prefetch() >= 1 && param.prefetch() <= kMostBatches,
            "data_param.prefetch is {}; it can be 1 to {}", param.prefetch(), kMostBatches);
    options.depth = static_cast<int>(param.prefetch());
  }
  options.reading = reading;
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(std::make_unique<DataSource>(layer, std::move(transformer), seed, reading),
                    options);
}

}  // namespace crema
