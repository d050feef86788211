// Records of LMDB and LevelDB: Datums.
#include <utility>

#include "base/error.h"
#include "data/database.h"
#include "data/datum.h"
#include "data/picture_format.h"
#include "data/record_kinds.h"
#include "data/record_name.h"

namespace crema {
namespace {

class DatabaseRecords final : public RecordStream {
 public:
  DatabaseRecords(Kind kind, std::unique_ptr<DatabaseReader> reader, std::string recognised_by)
      : RecordStream(kind, reader->path(), std::move(recognised_by)), reader_(std::move(reader)) {}

  std::optional<std::int64_t> total() const override {
    // A LevelDB would be read to its end for that.
    if (kind() == Kind::kLevelDb) return std::nullopt;
    return reader_->records();
  }

  std::string where(const PackedRecord& record) const override {
    return fmt::format("{}: {}", path(), record_name(record.key));
  }

  bool next(PackedRecord* record) override {
    if (!reader_->next()) return false;
    record->index = next_++;
    record->key = reader_->key();
    reader_->locate(&record->value);
    return true;
  }

  void rewind() override {
    reader_->rewind();
    next_ = 0;
  }

  void unpack(const PackedRecord& packed, Record* record) const override {
    caffe::Datum& datum = record->datum;
    const std::string_view value = reader_->load(packed.key, packed.value, &record->contents);
    with_context([&] { return path(); }, [&] { parse_datum(packed.key, value, &datum); });
    record->index = packed.index;
    record->key = packed.key;
    record->stored_bytes = static_cast<std::int64_t>(value.size());
    labels_of(datum, &record->labels);
    record->float_labels = datum.float_label_size() > 0;
    record->file = {};
    if (datum.encoded()) {
      record->file = datum.data();
      const PictureFormat format = picture_format(datum.data());
      record->encoding = format.name.empty() ? "encoded, of no known format" : format.name;
      return;
    }
    record->encoding = datum.data().empty() ? "float_data" : "bytes";
    record->image = image_of(datum);
    record->shape = record->image.shape();
  }

  void decode(const PackedRecord& packed, Record* record) const override {
    with_context([&] { return where(packed); },
                 [&] {
                   record->image = image_of(record->datum, Decode::kAsIs, &record->decoded);
                   record->shape = record->image.shape();
                 });
  }

 private:
  const std::unique_ptr<DatabaseReader> reader_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> open_database_records(const std::string& path,
                                                    caffe::DataParameter::DB backend,
                                                    const std::string& recognised_by) {
  return std::make_unique<DatabaseRecords>(backend == caffe::DataParameter::LMDB
                                               ? RecordStream::Kind::kLmdb
                                               : RecordStream::Kind::kLevelDb,
                                           open_database(path, backend), recognised_by);
}

}  // namespace crema
