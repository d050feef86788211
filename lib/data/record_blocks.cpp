#include "data/record_blocks.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"

namespace crema {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

struct Block {
  std::vector<PackedRecord> records;
  std::unique_ptr<BlockResult> result;
  std::exception_ptr failure;  ///< of the stream, behind these records
};

class Reading {
 public:
  Reading(RecordStream* stream, const BlockOptions& options) : stream_(stream), options_(options) {}

  /// The next block; nothing after the last one.
  std::shared_ptr<Block> next() {
    if (ended_) return nullptr;
    auto block = std::make_shared<Block>();
    std::size_t bytes = 0;
    try {
      while (static_cast<std::int64_t>(block->records.size()) < options_.records &&
             bytes < kBlockBytes) {
        PackedRecord record;
        if (done_ == options_.limit || !stream_->next(&record)) {
          ended_ = true;
          break;
        }
        ++done_;
        bytes += std::max<std::size_t>(record.value.bytes.size(), record.value.size) +
                 4 * record.values.size();
        block->records.push_back(std::move(record));
      }
    } catch (const Error& error) {
      ended_ = true;
      if (options_.ended != nullptr && error.kind() == ErrorKind::kUser) {
        *options_.ended = error.what();
      } else {
        block->failure = std::current_exception();
      }
    } catch (...) {
      ended_ = true;
      block->failure = std::current_exception();
    }
    return block->records.empty() && !block->failure ? nullptr : block;
  }

 private:
  RecordStream* const stream_;
  const BlockOptions& options_;
  std::int64_t done_ = 0;
  bool ended_ = false;
};

void visit(const RecordStream& stream, const BlockWork& work, Block* block) {
  block->result = work.begin();
  BlockResult* const result = block->result.get();
  Record record;
  if (!block->records.empty()) {
    result->first_key = block->records.front().key;
    result->last_key = block->records.back().key;
  }
  for (PackedRecord& packed : block->records) {
    try {
      stream.unpack(packed, &record);
      work.visit(packed, &record, result);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUser) throw;
      result->broken.push_back({packed.index, error.what()});
    }
    ++result->records;
    packed = {};  // its memory is not needed any more
  }
}

}  // namespace

std::int64_t for_each_block(RecordStream* stream, const BlockOptions& options,
                            const BlockWork& work) {
  CREMA_ASSERT(options.threads >= 1 && options.records >= 1);
  namespace tbb = oneapi::tbb;
  using BlockPointer = std::shared_ptr<Block>;
  Reading reading(stream, options);
  std::int64_t done = 0;
  const auto read = [&](tbb::flow_control& control) -> BlockPointer {
    BlockPointer block = work.enough && work.enough() ? nullptr : reading.next();
    if (!block) control.stop();
    return block;
  };
  const auto look = [&](BlockPointer block) {
    visit(*stream, work, block.get());
    return block;
  };
  const auto join = [&](const BlockPointer& block) {
    done += block->result->records;
    work.join(std::move(block->result));
    if (options.progress) options.progress(done);
    if (block->failure) std::rethrow_exception(block->failure);
  };
  // The library's pool may be smaller than what is asked for.
  const tbb::global_control pool(tbb::global_control::max_allowed_parallelism,
                                 static_cast<std::size_t>(options.threads));
  tbb::task_arena arena(options.threads);
  arena.execute([&] {
    tbb::parallel_pipeline(
        static_cast<std::size_t>(2 * options.threads),
        tbb::make_filter<void, BlockPointer>(tbb::filter_mode::serial_in_order, read) &
            tbb::make_filter<BlockPointer, BlockPointer>(tbb::filter_mode::parallel, look) &
            tbb::make_filter<BlockPointer, void>(tbb::filter_mode::serial_in_order, join));
  });
  return done;
}

}  // namespace crema
