// What a BatchReader reads ahead from: records that are found one after the other, then decoded and
// transformed in any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_reader.h"
#include "data/reader_options.h"
#include "tensor/shape.h"

namespace crema {

struct Views;

/// Enough to name a record later; what the fields mean is the source's business.
struct RecordOrigin {
  std::string key;
  std::int64_t row = 0;
  std::size_t file = 0;
};

/// Where finish() writes one record: a piece of memory a top.
class ItemTarget {
 public:
  virtual ~ItemTarget() = default;
  /// For a record whose tops have the source's item_shapes().
  virtual const std::vector<float*>& regular() = 0;
  /// For one with other shapes; `seen` is what a message about that shows (the picture's shape
  /// before it was transformed).
  virtual const std::vector<float*>& other(const std::vector<Shape>& shapes, const Shape& seen) = 0;
};

/// seek() and fetch() are called by one thread at a time, the const functions by any, at any time.
class BatchSource {
 public:
  /// A record that was found, with what finish() needs; a source adds to it.
  struct Record {
    virtual ~Record() = default;
    std::uint64_t position = 0;  ///< counted from the beginning of the run
    int index = 0, batch = 0;    ///< its place in a batch of so many
    RecordOrigin origin;
  };
  /// Memory of one thread that finishes records; a source adds to it.
  struct Workspace {
    virtual ~Workspace() = default;
  };

  virtual ~BatchSource() = default;

  /// One shape a top, without the batch axis: those of the first record.
  virtual const std::vector<Shape>& item_shapes() const = 0;
  /// The shape of the first record as `seen` has it.
  virtual Shape first_seen() const { return item_shapes().front(); }
  /// Whether a batch may have other shapes, those of its first record.
  virtual bool shapes_vary() const { return false; }
  virtual std::int64_t records() const = 0;

  /// Several items for each record. Fails where the source has no pictures. Not while fetch() or
  /// finish() run.
  virtual void set_views(const Views& views);
  virtual int views() const { return 1; }

  virtual std::unique_ptr<Record> new_record() const { return std::make_unique<Record>(); }
  virtual std::unique_ptr<Workspace> new_workspace() const { return std::make_unique<Workspace>(); }

  /// The next record to fetch, counted from the beginning of the run: modulo records(), where order
  /// is the same in every epoch. Going forward is quick.
  virtual void seek(std::uint64_t position) = 0;
  /// Finds the next record and reads what has to be read in order; sets its origin. What fails here
  /// cannot be skipped.
  virtual void fetch(Record* record) = 0;
  /// Decodes and transforms it, views() times, and writes each top. User errors name the record.
  virtual void finish(const Record& record, Workspace* workspace, ItemTarget* target) const = 0;

  /// A record as messages about its batch name it.
  virtual std::string describe(const RecordOrigin& origin) const = 0;
  /// The same as the context of an error.
  virtual std::string where(const RecordOrigin& origin) const { return describe(origin); }
};

struct ReadAheadOptions {
  int batch_size = 1;
  int depth = 0;  ///< batches; 0: as many as fit into 128 MB, one to four
  ReaderOptions reading;
};

/// Reads ahead with oneTBB's worker threads.
std::unique_ptr<BatchReader> read_ahead(std::unique_ptr<BatchSource> source,
                                        const ReadAheadOptions& options);

/// A batch size or a prefetch depth as the message has it (unsigned), checked to be 1 to 2^31 - 1.
int positive_int(std::uint32_t value, const char* field);

}  // namespace crema
