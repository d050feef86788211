// Going over all records of a stream with several threads, with a result that does not depend on
// their number: records are dealt out in blocks that are the same for any number, and what is found
// in the blocks is joined in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/record_stream.h"

namespace crema {

struct BlockOptions {
  int threads = 1;
  std::int64_t limit = -1;    ///< only so many records from the beginning; -1: all
  std::int64_t records = 64;  ///< of a block, or as many as have 8 MB, if that is less
  /// Told how many records are done, by one thread at a time; may throw to stop.
  std::function<void(std::int64_t)> progress{};
  /// Where the error goes with which the stream breaks off; without, it is thrown.
  std::string* ended = nullptr;
};

/// A record that cannot be read, and why. The text begins with its name.
struct BrokenRecord {
  std::int64_t index = 0;
  std::string why;
};

/// What a block's records gave: derived from by what is collected.
struct BlockResult {
  virtual ~BlockResult() = default;
  std::int64_t records = 0;  ///< good and broken ones
  std::string first_key, last_key;
  std::vector<BrokenRecord> broken;
};

/// What is to be done. `visit` gets the unpacked records of a block in order, from any thread; a
/// user error that it throws makes the record a broken one. `join` gets the results in the order of
/// the blocks, from one thread at a time.
struct BlockWork {
  std::function<std::unique_ptr<BlockResult>()> begin;
  std::function<void(const PackedRecord&, Record*, BlockResult*)> visit;
  std::function<void(std::unique_ptr<BlockResult>)> join;
  /// True: no more blocks are needed. Asked by the reading thread, while others work.
  std::function<bool()> enough{};
};

/// From where the stream stands to its end. Returns the number of records. What the stream, `join`
/// or `progress` throw comes out, after all blocks before it have been joined.
std::int64_t for_each_block(RecordStream* stream, const BlockOptions& options,
                            const BlockWork& work);

}  // namespace crema
