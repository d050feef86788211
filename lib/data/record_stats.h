// What the records of a source are like: sizes, labels, values, and what is broken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/record_blocks.h"
#include "data/record_stream.h"
#include "tensor/shape.h"

namespace crema {

/// Something that happens to records: to how many, and which one is the first.
struct Occurrence {
  std::int64_t count = 0;
  std::string first;

  void add(const std::string& name);
  void join(const Occurrence& later);
};

/// Finite values of one channel over all records.
struct ChannelStats {
  std::int64_t count = 0;
  double mean = 0, squares = 0;  ///< squares: sum of squared distances from the mean
  double min = 0, max = 0;

  double deviation() const;
  void join(const ChannelStats& other);
};

/// Label number k of all records that have one.
struct LabelStats {
  std::int64_t count = 0, not_whole = 0, not_finite = 0;
  double sum = 0, min = 0, max = 0;                ///< of the finite ones
  std::map<std::int64_t, std::int64_t> histogram;  ///< of the whole ones, up to kMostClasses
  bool many = false;                               ///< there are more than that

  static constexpr std::size_t kMostClasses = 100000;
  void add(float label);
  void join(const LabelStats& later);
};

struct RecordStats {
  std::int64_t records = 0;  ///< good and broken
  std::int64_t decoded = 0;  ///< pictures that were looked at
  std::int64_t bytes = 0;    ///< as they are stored
  std::string first_key, last_key;
  std::map<Shape, Occurrence> shapes;
  std::map<std::string, std::int64_t> encodings;
  std::map<std::size_t, Occurrence> label_counts;  ///< by the number of labels of a record
  bool float_labels = false;                       ///< some are stored as such
  std::vector<LabelStats> labels;
  std::int64_t label_changes = 0;  ///< from one record to the next
  std::vector<ChannelStats> channels;
  Occurrence not_finite;      ///< records with values that are infinite or no numbers
  Occurrence one_value;       ///< records all of whose values are equal
  Occurrence gray_in_colour;  ///< records with three equal channels
  /// Records whose picture another one has; of these those with another label.
  std::int64_t duplicates = 0, contradictions = 0;
  std::pair<std::int64_t, std::int64_t> first_duplicate;  ///< their numbers, the earlier one first
  std::int64_t broken = 0;
  std::vector<BrokenRecord> first_broken;  ///< at most kListed
  std::string ended;                       ///< why the source cannot be read to its end, or ""

  static constexpr std::size_t kListed = 10;
  std::int64_t good() const { return records - broken; }
};

struct RecordStatsOptions {
  int threads = 1;
  /// Look at only so many pictures, spread evenly; at everything else in all records. -1: at all.
  std::int64_t sample = -1;
  std::function<void(std::int64_t)> progress{};
};

/// Reads a stream from its beginning. Broken records are counted, and so is a source that breaks
/// off; only `progress` ends it. The same for any number of threads.
RecordStats measure_records(RecordStream* stream, const RecordStatsOptions& options = {});

}  // namespace crema
