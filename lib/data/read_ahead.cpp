// A bounded number of batches between tasks that fill them and read().
//
// Tasks are oneTBB's. One at a time fetches: it takes an empty batch and lets the source find the
// records of it. They are finished in pieces, any number at once; a batch is whole when no piece of
// it is left. Whoever waits for a batch takes part in it instead of sleeping. Each item of a batch
// has its own place and its own error, so what comes out does not depend on who did what. To change
// anything (batch size, position) all tasks are waited for; they start again with the next read().
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "data/batch.h"
#include "data/batch_source.h"
#include "data/image.h"

namespace crema {
namespace {

constexpr std::int64_t kAutomaticBytes = std::int64_t{128} << 20;
constexpr int kAutomaticDepth = 4;
/// What a task finishes: so much at least, to be worth a task, and so many records at most.
constexpr std::int64_t kTaskBytes = std::int64_t{256} << 10, kTaskRecords = 256;
/// Reasons that are kept of records that were left out.
constexpr std::size_t kReasons = 10;

/// As many as tbb::global_control leaves; by itself the library counts its caller as one.
int allowed_threads() {
  const std::size_t allowed =
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::max(static_cast<int>(allowed) - 1, 1);
}

class ReadAhead final : public BatchReader {
 public:
  ReadAhead(std::unique_ptr<BatchSource> source, const ReadAheadOptions& options)
      // A thread a core, unless something allows fewer.
      : threads_(tbb::global_control::max_allowed_parallelism,
                 static_cast<std::size_t>(tbb::info::default_concurrency()) + 1),
        arena_(allowed_threads(), 0),
        source_(std::move(source)),
        skipping_(options.reading.skip_bad_records),
        depth_(options.depth),
        items_(source_->item_shapes()) {
    set_batch_size(options.batch_size);
  }
  ~ReadAhead() override { stop(); }

  std::vector<Shape> shapes(int records) const override {
    std::vector<Shape> result;
    for (const Shape& item : items_) {
      std::vector<std::int64_t> dims{std::int64_t{records} * source_->views()};
      dims.insert(dims.end(), item.dims().begin(), item.dims().end());
      result.emplace_back(std::move(dims));
    }
    return result;
  }

  int batch_size() const override { return batch_size_; }
  int items() const override { return count_; }
  std::int64_t records() const override { return source_->records(); }
  std::uint64_t position() const override { return position_; }
  int views() const override { return source_->views(); }
  std::int64_t skipped_count() const override { return skipped_count_; }
  std::vector<std::string> skipped() const override { return skipped_; }
  double seconds_waiting() const override { return waited_.count(); }

  void set_batch_size(int batch_size) override {
    CREMA_ASSERT(batch_size > 0);
    if (batch_size == batch_size_) return;
    shapes(batch_size);  // fails when the batch has too many elements
    stop();
    batch_size_ = batch_size;
    count_ = batch_size;
  }

  void set_share(int offset, int stride) override {
    CREMA_ASSERT(offset >= 0 && stride >= offset + batch_size_);
    stop();
    offset_ = offset;
    stride_ = stride;
  }

  void set_views(const Views& views) override {
    stop();
    source_->set_views(views);
    items_ = source_->item_shapes();
    count_ = batch_size_;
    shapes(batch_size_);
  }

  void seek(std::uint64_t records_consumed) override {
    stop();
    position_ = records_consumed;
  }

  bool follow_shapes() override {
    if (!skipping_ && !source_->shapes_vary()) return false;
    const Batch& next = wait();
    if (next.error) return false;
    const std::vector<Shape>& shapes = next.first == nullptr || next.first->regular()
                                           ? source_->item_shapes()
                                           : next.first->shapes;
    const int count = static_cast<int>(next.good.size());
    if (count == count_ && shapes == items_) return false;
    count_ = count;
    items_ = shapes;
    return true;
  }

  void pass_over() override {
    std::unique_ptr<Batch> batch = take_next();
    last_.clear();
    note_skipped(*batch);
    position_ += static_cast<std::uint64_t>(stride());
    passed_over_ += batch_size_;
    const std::exception_ptr why = batch->first_bad;
    release(std::move(batch));
    // Else it would go on for ever.
    if (passed_over_ >= records() && why) std::rethrow_exception(why);
  }

  void read(const std::vector<float*>& tops) override {
    CREMA_ASSERT(tops.size() == items_.size());
    std::unique_ptr<Batch> batch = take_next();
    CREMA_ASSERT(batch->first != nullptr);  // else pass_over() is what to call
    passed_over_ = 0;
    // Else the tops have the wrong size.
    CREMA_ASSERT(static_cast<int>(batch->good.size()) == count_ &&
                 (batch->first->regular() ? source_->item_shapes() : batch->first->shapes) ==
                     items_);
    for (std::size_t top = 0; top < tops.size(); ++top) copy(*batch, top, tops[top]);
    last_.clear();
    for (const int item : batch->good) {
      std::swap(last_.emplace_back(), batch->records[static_cast<std::size_t>(item)]->origin);
    }
    note_skipped(*batch);
    position_ += static_cast<std::uint64_t>(stride());
    release(std::move(batch));
  }

  std::string describe(int item) const override {
    const auto record = static_cast<std::size_t>(item) / static_cast<std::size_t>(views());
    if (item < 0 || record >= last_.size()) return "";
    return source_->describe(last_[record]);
  }

 private:
  int stride() const { return stride_ > 0 ? stride_ : batch_size_; }

  // --- The owner's side.

  /// The next batch, waited for and examined; it stays where it is.
  Batch& wait() {
    if (!running_) start();
    std::unique_lock<std::mutex> lock(mutex_);
    if (!front_is_whole()) {
      const auto begin = std::chrono::steady_clock::now();
      while (!front_is_whole()) {
        if (!help(&lock)) changed_.wait(lock);
      }
      waited_ += std::chrono::steady_clock::now() - begin;
    }
    Batch& batch = *filling_.front();
    lock.unlock();
    if (!batch.examined) examine(&batch);
    return batch;
  }

  bool front_is_whole() const { return !filling_.empty() && filling_.front()->pending == 0; }

  /// Does something for the next batch, if there is something to do.
  bool help(std::unique_lock<std::mutex>* lock) {
    const bool piece = !pieces_.empty() && pieces_.front().batch == filling_.front().get();
    const bool fetching = filling_.empty() && can_fetch();
    if (!piece && !fetching) return false;
    lock->unlock();
    if (piece) {
      finish_piece();
    } else {
      fetch_batch();
      fetch_later();
    }
    lock->lock();
    return true;
  }

  /// The next batch, waited for; its error is thrown.
  std::unique_ptr<Batch> take_next() {
    if (const std::exception_ptr error = wait().error) {
      // Without its tasks the next call tries again, and meets the error again if it is still
      // there.
      stop();
      std::rethrow_exception(error);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Batch> batch = std::move(filling_.front());
    filling_.pop_front();
    return batch;
  }

  void release(std::unique_ptr<Batch> batch) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      empty_.push_back(std::move(batch));
    }
    fetch_later();
  }

  void start() {
    sizes_.clear();
    std::int64_t bytes = 0;
    for (const Shape& shape : source_->item_shapes()) {
      sizes_.push_back(shape.count() * source_->views());
      bytes += sizes_.back() * static_cast<std::int64_t>(sizeof(float));
    }
    per_task_ = static_cast<int>(
        std::clamp<std::int64_t>(kTaskBytes / std::max<std::int64_t>(bytes, 1), 1, kTaskRecords));
    const std::int64_t fitting = kAutomaticBytes / std::max<std::int64_t>(bytes * batch_size_, 1);
    const int depth = depth_ > 0
                          ? depth_
                          : static_cast<int>(std::clamp<std::int64_t>(fitting, 1, kAutomaticDepth));
    // Memory comes with the first filling, so that what is never reached costs nothing.
    for (int i = 0; i < depth; ++i) empty_.push_back(std::make_unique<Batch>());
    stopping_ = false;
    running_ = true;
    failed_ = false;
    fetch_position_ = position_;
    positioned_ = false;
    fetch_later();
  }

  void stop() {
    if (!running_) return;
    std::unique_lock<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.wait(lock, [&] { return tasks_ == 0; });
    pieces_.clear();
    empty_.clear();
    filling_.clear();
    running_ = false;
  }

  /// Sorts the items of a whole batch; what is wrong with it goes into its error.
  void examine(Batch* batch) const {
    batch->examined = true;
    batch->good.clear();
    batch->first = nullptr;
    batch->first_bad = nullptr;
    for (int i = 0; i < batch->fetched; ++i) {
      Item& item = batch->items[static_cast<std::size_t>(i)];
      if (!item.error && batch->first != nullptr) item.error = misfit(*batch, i);
      if (!item.error) {
        batch->good.push_back(i);
        if (batch->first == nullptr) batch->first = &item;
        continue;
      }
      if (!batch->first_bad) batch->first_bad = item.error;
      if (skipping_ && is_user_error(item.error)) continue;
      batch->error = item.error;  // comes before that of fetching
      return;
    }
  }

  /// The error of item `i` if it has another shape than the first one of its batch.
  std::exception_ptr misfit(const Batch& batch, int i) const {
    const Item& item = batch.items[static_cast<std::size_t>(i)];
    const Item& first = *batch.first;
    if (item.regular() ? first.regular() : item.shapes == first.shapes) return nullptr;
    const Shape seen = item.regular() ? source_->first_seen() : item.seen;
    const Shape seen_first = first.regular() ? source_->first_seen() : first.seen;
    const RecordOrigin& origin = batch.records[static_cast<std::size_t>(i)]->origin;
    return std::make_exception_ptr(Error(
        ErrorKind::kUser,
        fmt::format("{}: the image is {}, but the first record, which gives the batch its shape, "
                    "is {}{}",
                    source_->where(origin), seen.str(), seen_first.str(),
                    channels_first_hint(seen))));
  }

  static bool is_user_error(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& known) {
      return known.kind() == ErrorKind::kUser;
    } catch (...) {
      return false;
    }
  }

  void copy(const Batch& batch, std::size_t top, float* to) const {
    if (batch.first->regular()) {
      const float* const from = batch.tops[top].data();
      const std::int64_t size = sizes_[top];
      if (static_cast<int>(batch.good.size()) == batch_size_) {
        std::memcpy(to, from, static_cast<std::size_t>(size * batch_size_) * sizeof(float));
        return;
      }
      for (const int item : batch.good) to = std::copy_n(from + item * size, size, to);
      return;
    }
    for (const int item : batch.good) {
      const std::vector<float>& values = batch.items[static_cast<std::size_t>(item)].values[top];
      to = std::copy(values.begin(), values.end(), to);
    }
  }

  void note_skipped(const Batch& batch) {
    if (batch.good.size() == batch.items.size()) return;
    for (const Item& item : batch.items) {
      if (!item.error) continue;
      ++skipped_count_;
      if (skipped_.size() >= kReasons) continue;
      try {
        std::rethrow_exception(item.error);
      } catch (const std::exception& error) {
        skipped_.emplace_back(error.what());
      }
    }
  }

  // --- The tasks' side.

  template <class Body>
  void spawn(Body body) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++tasks_;
    }
    arena_.enqueue([this, body] {
      body();
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--tasks_ == 0) changed_.notify_all();
    });
  }

  /// With the mutex held.
  bool can_fetch() const { return !stopping_ && !failed_ && !fetching_ && !empty_.empty(); }

  void fetch_later() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (fetch_queued_ || !can_fetch()) return;
      fetch_queued_ = true;
    }
    spawn([this] {
      while (fetch_batch()) {
      }
    });
  }

  /// Fetches one batch; false when there is nothing to fetch, or somebody else does.
  bool fetch_batch() {
    Batch* batch = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!can_fetch()) {
        fetch_queued_ = false;
        return false;
      }
      fetching_ = true;
      filling_.push_back(std::move(empty_.front()));
      empty_.pop_front();
      batch = filling_.back().get();
      batch->pending = 1;
    }
    try {
      fetch(batch);
    } catch (...) {
      batch->error = std::current_exception();
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      fetching_ = false;
      failed_ = batch->error != nullptr;  // then nobody fetches any more until all is stopped
    }
    done_with(batch);
    return true;
  }

  void fetch(Batch* batch) {
    prepare(batch);
    const std::uint64_t position = fetch_position_ + static_cast<std::uint64_t>(offset_);
    if (!positioned_ || stride() != batch_size_) source_->seek(position);
    positioned_ = true;
    fetch_position_ += static_cast<std::uint64_t>(stride());
    for (int begin = 0; begin < batch_size_ && !stopping_; begin += per_task_) {
      const int end = std::min(begin + per_task_, batch_size_);
      for (int i = begin; i < end; ++i) {
        BatchSource::Record& record = *batch->records[static_cast<std::size_t>(i)];
        record.position = position + static_cast<std::uint64_t>(i);
        record.index = i;
        record.batch = batch_size_;
        try {
          source_->fetch(&record);
        } catch (...) {
          // What was found before it may have an error of its own, which then comes first.
          finish_later(batch, begin, i);
          throw;
        }
        batch->fetched = i + 1;
      }
      finish_later(batch, begin, end);
    }
  }

  void prepare(Batch* batch) {
    batch->error = nullptr;
    batch->examined = false;
    batch->fetched = 0;
    batch->tops.resize(sizes_.size());
    for (std::size_t top = 0; top < sizes_.size(); ++top) {
      batch->tops[top].resize(static_cast<std::size_t>(sizes_[top] * batch_size_));
    }
    batch->items.resize(static_cast<std::size_t>(batch_size_));
    while (batch->records.size() < batch->items.size()) {
      batch->records.push_back(source_->new_record());
    }
  }

  void finish_later(Batch* batch, int begin, int end) {
    if (begin == end) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++batch->pending;
      pieces_.push_back({batch, begin, end});
    }
    changed_.notify_all();
    spawn([this] { finish_piece(); });
  }

  void finish_piece() {
    Piece piece;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (pieces_.empty()) return;  // somebody was quicker
      piece = pieces_.front();
      pieces_.pop_front();
    }
    finish(piece.batch, piece.begin, piece.end);
    done_with(piece.batch);
  }

  void finish(Batch* batch, int begin, int end) {
    auto& workspace = workspaces_.local();
    Target target(batch, sizes_);
    target.set_views(source_->views());
    for (int i = begin; i < end && !stopping_; ++i) {
      target.go_to(i);
      try {
        if (!workspace) workspace = source_->new_workspace();
        source_->finish(*batch->records[static_cast<std::size_t>(i)], workspace.get(), &target);
      } catch (...) {
        batch->items[static_cast<std::size_t>(i)].error = std::current_exception();
      }
    }
  }

  void done_with(Batch* batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--batch->pending == 0) changed_.notify_all();
  }

  const tbb::global_control threads_;
  tbb::task_arena arena_;
  const std::unique_ptr<BatchSource> source_;
  const bool skipping_;
  const int depth_;

  // Of the owner.
  std::vector<Shape> items_;  ///< shapes of the next batch, without the batch axis
  int batch_size_ = 0, count_ = 0;
  int offset_ = 0, stride_ = 0;
  std::uint64_t position_ = 0;
  std::vector<RecordOrigin> last_;
  std::int64_t skipped_count_ = 0, passed_over_ = 0;
  std::vector<std::string> skipped_;
  std::chrono::duration<double> waited_{0};
  bool running_ = false;

  // Set while no task runs.
  std::vector<std::int64_t> sizes_;  ///< elements of a record's views, by top
  int per_task_ = 1;
  // Of the task that fetches.
  std::uint64_t fetch_position_ = 0;
  bool positioned_ = false;

  tbb::enumerable_thread_specific<std::unique_ptr<BatchSource::Workspace>> workspaces_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> empty_, filling_;
  std::deque<Piece> pieces_;  ///< that nobody has begun
  bool fetching_ = false, fetch_queued_ = false, failed_ = false;
  int tasks_ = 0;
};

}  // namespace

void BatchSource::set_views(const Views& /*views*/) {
  fail("this source has no pictures to take views of");
}

std::unique_ptr<BatchReader> read_ahead(std::unique_ptr<BatchSource> source,
                                        const ReadAheadOptions& options) {
  return std::make_unique<ReadAhead>(std::move(source), options);
}

int positive_int(std::uint32_t value, const char* field) {
  require(value >= 1 && value <= std::numeric_limits<int>::max(), "{} is {}; it can be 1 to {}",
          field, value, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

}  // namespace crema
