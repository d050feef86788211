// "Data": pictures and labels out of a data base.
#include <utility>

#include "base/error.h"
#include "data/database.h"
#include "data/datum.h"
#include "data/image_source.h"
#include "data/record_name.h"

namespace crema {
namespace {

class DataSource final : public ImageSource {
 public:
  DataSource(std::unique_ptr<DatabaseReader> reader, bool labels, Transformer transformer)
      : ImageSource(std::move(transformer), labels, false), reader_(std::move(reader)) {
    measure();
  }

  std::int64_t records() const override { return reader_->records(); }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("{} of {}", record_name(origin.key), reader_->path());
  }

 private:
  void go_to(std::uint64_t position) override {
    reader_->rewind();
    // Without a need nobody asks a LevelDB for its number of records.
    if (position == 0) return;
    reader_->skip(static_cast<std::int64_t>(position % static_cast<std::uint64_t>(records())));
  }

  void load(Record* record) override {
    if (!reader_->next()) reader_->next();  // there is at least one record
    record->origin.key = reader_->key();
    const std::string_view value = reader_->value();
    with_context([&] { return reader_->path(); },
                 [&] { parse_datum(reader_->key(), value, &datum_); });
    with_context([&] { return where(record->origin); },
                 [&] { record->image = image_of(datum_, transformer().decoding(), &decoded_); });
    record->label = datum_.label_size() > 0 ? static_cast<float>(datum_.label(0)) : 0;
  }

  std::string where(const RecordOrigin& origin) const override {
    return fmt::format("{}: {}", reader_->path(), record_name(origin.key));
  }

  const std::unique_ptr<DatabaseReader> reader_;
  caffe::Datum datum_;
  Image decoded_;
};

}  // namespace

std::unique_ptr<BatchReader> open_data(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed) {
  const caffe::DataParameter& param = layer.data_param();
  require(layer.top_size() == 1 || layer.top_size() == 2,
          "a Data layer has 1 or 2 tops (the pictures, the labels), not {}", layer.top_size());
  require(!param.source().empty(), "data_param has no source");
  require(
      param.has_backend() || database_kind(param.source()) != "LMDB",
      "data_param.source {} is an LMDB, but without backend: it is taken for a LevelDB, Caffe's "
      "default; write data_param {{ backend: LMDB }}",
      param.source());
  const int batch_size = positive_int(param.batch_size(), "data_param.batch_size");
  const int depth =
      param.has_prefetch() ? positive_int(param.prefetch(), "data_param.prefetch") : 0;
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(std::make_unique<DataSource>(open_database(param.source(), param.backend()),
                                                 layer.top_size() == 2, std::move(transformer)),
                    batch_size, depth);
}

}  // namespace crema
