// Any source of pictures by its path: what lies there is recognised by its content, and its records
// come one after the other, whatever their form. For tools that look at data; data layers read with
// data/batch_reader.h.
//
//   source -> next(): as it is stored -> unpack(): parsed and checked -> decode(): a picture
//             one thread                \________________ any number of threads ________________/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caffe.pb.h"
#include "data/database.h"
#include "data/image.h"
#include "tensor/shape.h"

namespace crema {

struct RecordStreamOptions {
  /// Which kind of data base is expected; otherwise what is there.
  std::optional<caffe::DataParameter::DB> backend;
  // Of image lists and folders, whose pictures are read as ImageData and convert-imageset do:
  std::string root;  ///< put in front of names as it is
  int label_count = 1;
  bool gray = false;                        ///< one channel instead of three
  int resize_height = 0, resize_width = 0;  ///< both or neither
  // Of HDF5 files:
  std::string dataset = "data";
  std::string label_dataset = "label";  ///< need not be there
};

/// A record as it lies in its source.
struct PackedRecord {
  std::int64_t index = 0;  ///< from 0
  /// Data base: its key. List and folder: the name. HDF5: the row as `%08d`, counted over all
  /// files.
  std::string key;
  StoredValue value;                  ///< of a data base
  std::vector<float> values, labels;  ///< of HDF5
};

/// A record, and the memory behind it, which is reused from one to the next.
struct Record {
  std::int64_t index = 0;
  std::string key;
  /// How values are stored: "bytes", "float_data", "JPEG", "PNG", "32-bit float", …
  std::string encoding;
  std::string_view file;  ///< the picture file; empty where there is none
  std::int64_t stored_bytes = 0;
  Shape shape;                ///< rows of HDF5 may have other than three axes
  ImageView image;            ///< rows of fewer axes have one channel, or height and width 1
  std::vector<float> labels;  ///< at least one, but for HDF5 without labels
  bool float_labels = false;  ///< stored as such

  caffe::Datum datum;
  std::string contents;  ///< of the file, or of the data base's value
  Image decoded, resized;
};

class RecordStream {
 public:
  virtual ~RecordStream() = default;
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  enum class Kind { kLmdb, kLevelDb, kHdf5, kHdf5List, kImageList, kImageFolder };

  Kind kind() const { return kind_; }
  /// "LMDB", "folder of images"
  std::string kind_name() const;
  const std::string& path() const { return path_; }
  /// "its folder holds data.mdb"
  const std::string& recognised_by() const { return recognised_by_; }

  /// How many, where that is known without reading them.
  virtual std::optional<std::int64_t> total() const = 0;
  /// Names of the classes 0, 1, …, where the source has them.
  virtual std::vector<std::string> classes() const { return {}; }
  /// Other things in the source that are worth a line.
  virtual std::vector<std::string> notes() const { return {}; }
  /// `train_lmdb: record "a"`, `list.txt:12: a.png`
  virtual std::string where(const PackedRecord& record) const = 0;

  /// The next record; false at the end. An error means that the rest cannot be read either.
  virtual bool next(PackedRecord* record) = 0;
  virtual void rewind() = 0;

  /// Checks a record and finds all but the picture: `shape` and `image` only where nothing has to
  /// be decoded. `packed` must stay. Errors concern this record alone and name it. From any thread.
  virtual void unpack(const PackedRecord& packed, Record* record) const = 0;
  /// The picture of an unpacked record. From any thread.
  virtual void decode(const PackedRecord& packed, Record* record) const = 0;

 protected:
  RecordStream(Kind kind, std::string path, std::string recognised_by)
      : kind_(kind), path_(std::move(path)), recognised_by_(std::move(recognised_by)) {}

 private:
  Kind kind_;
  std::string path_, recognised_by_;
};

/// Opens an LMDB (folder or data file), a LevelDB, an HDF5 file, a text that lists HDF5 files, a
/// text that lists images, or a folder of class sub-folders. Fails when there is something else,
/// saying what.
std::unique_ptr<RecordStream> open_records(const std::string& path,
                                           const RecordStreamOptions& options = {});

}  // namespace crema
