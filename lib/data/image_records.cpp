// Pictures of a list or of a folder of classes.
#include <utility>

#include "base/error.h"
#include "data/image_list.h"
#include "data/picture_format.h"
#include "data/record_kinds.h"

namespace crema {
namespace {

class ImageRecords final : public RecordStream {
 public:
  ImageRecords(Kind kind, ImageList list, RecordStreamOptions options, std::string recognised_by)
      : RecordStream(kind, list.path(), std::move(recognised_by)),
        list_(std::move(list)),
        options_(std::move(options)) {}

  std::optional<std::int64_t> total() const override { return list_.size(); }
  std::vector<std::string> classes() const override { return list_.classes(); }

  std::string where(const PackedRecord& record) const override {
    return list_.is_folder() ? list_.file(record.index, options_.root)
                             : fmt::format("{}: {}", list_.where(record.index), record.key);
  }

  bool next(PackedRecord* record) override {
    if (next_ == list_.size()) return false;
    record->index = next_++;
    record->key = list_.name(record->index);
    return true;
  }
  void rewind() override { next_ = 0; }

  void unpack(const PackedRecord& packed, Record* record) const override {
    record->index = packed.index;
    record->key = packed.key;
    const std::string path = list_.file(packed.index, options_.root);
    if (list_.is_folder()) {
      record->contents = read_listed_file(path);
    } else {
      with_context([&] { return list_.where(packed.index); },
                   [&] { record->contents = read_listed_file(path); });
    }
    record->file = record->contents;
    record->stored_bytes = static_cast<std::int64_t>(record->contents.size());
    const auto labels = list_.labels(packed.index);
    record->labels.assign(labels.begin(), labels.end());
    record->float_labels = false;
    const PictureFormat format = picture_format(record->contents);
    record->encoding = format.name.empty() ? "files of no known format" : format.name;
  }

  void decode(const PackedRecord& packed, Record* record) const override {
    with_context([&] { return where(packed); },
                 [&] {
                   decode_image(record->file, options_.gray ? Decode::kGray : Decode::kColor,
                                &record->decoded);
                   record->image = record->decoded.view();
                   if (options_.resize_height > 0) {
                     resize_image(record->decoded, options_.resize_height, options_.resize_width,
                                  &record->resized);
                     record->image = record->resized.view();
                   }
                   record->shape = record->image.shape();
                 });
  }

 private:
  const ImageList list_;
  const RecordStreamOptions options_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> open_image_records(const std::string& path,
                                                 const RecordStreamOptions& options,
                                                 const std::string& recognised_by) {
  ImageList list(path, options.label_count);
  const RecordStream::Kind kind =
      list.is_folder() ? RecordStream::Kind::kImageFolder : RecordStream::Kind::kImageList;
  return std::make_unique<ImageRecords>(kind, std::move(list), options, recognised_by);
}

}  // namespace crema
