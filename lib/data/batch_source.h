// The single-threaded half of a BatchReader: records in order, without reading ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_reader.h"
#include "tensor/shape.h"

namespace crema {

/// Enough to name a record later; what the fields mean is the source's business.
struct RecordOrigin {
  std::string key;
  std::int64_t row = 0;
  std::size_t file = 0;
};

/// Used by one thread at a time, but for the const functions, which any thread may call at any
/// time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// One shape a top, without the batch axis: those of the first record.
  virtual const std::vector<Shape>& item_shapes() const = 0;
  /// Whether a batch may have other shapes, those of its first record.
  virtual bool shapes_vary() const { return false; }
  /// The shapes that the next read() will fill.
  virtual std::vector<Shape> next_shapes() { return item_shapes(); }
  virtual std::int64_t records() const = 0;
  /// The next record to read, counted from the beginning of the run (modulo records(), where order
  /// is the same in every epoch).
  virtual void seek(std::uint64_t position) = 0;
  /// The next `count` records into the tops, one behind the other, and their origins.
  virtual void read(int count, const std::vector<float*>& tops, RecordOrigin* origins) = 0;
  virtual std::string describe(const RecordOrigin& origin) const = 0;
};

/// Reads ahead in a thread of its own: up to `depth` batches, or, with 0, as many as fit into 128
/// MB, one to four.
std::unique_ptr<BatchReader> read_ahead(std::unique_ptr<BatchSource> source, int batch_size,
                                        int depth);

/// A batch size or a prefetch depth as the message has it (unsigned), checked to be 1 to 2^31 - 1.
int positive_int(std::uint32_t value, const char* field);

}  // namespace crema
