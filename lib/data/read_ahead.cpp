// A bounded queue of batches between a thread that fills them and read().
//
// The source belongs to the thread while it runs and to the owner of the reader otherwise. The
// thread is stopped and joined to change anything (batch size, position), and starts again with the
// next read().
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "data/batch_source.h"

namespace crema {
namespace {

constexpr std::int64_t kAutomaticBytes = std::int64_t{128} << 20;
constexpr int kAutomaticDepth = 4;

struct Batch {
  std::vector<Shape> items;  ///< shapes without the batch axis
  std::vector<std::vector<float>> tops;
  std::vector<RecordOrigin> origins;
  std::exception_ptr error;
};

class ReadAhead final : public BatchReader {
 public:
  ReadAhead(std::unique_ptr<BatchSource> source, int batch_size, int depth)
      : source_(std::move(source)),
        varying_(source_->shapes_vary()),
        depth_(depth),
        items_(source_->item_shapes()) {
    set_batch_size(batch_size);
  }
  ~ReadAhead() override { stop(); }

  std::vector<Shape> shapes(int batch_size) const override {
    std::vector<Shape> result;
    for (const Shape& item : items_) {
      std::vector<std::int64_t> dims{batch_size};
      dims.insert(dims.end(), item.dims().begin(), item.dims().end());
      result.emplace_back(std::move(dims));
    }
    return result;
  }

  int batch_size() const override { return batch_size_; }
  std::int64_t records() const override { return source_->records(); }
  std::uint64_t position() const override { return position_; }
  double seconds_waiting() const override { return waited_.count(); }

  void set_batch_size(int batch_size) override {
    CREMA_ASSERT(batch_size > 0);
    if (batch_size == batch_size_) return;
    shapes(batch_size);  // fails when the batch has too many elements
    stop();
    batch_size_ = batch_size;
  }

  void seek(std::uint64_t records_consumed) override {
    stop();
    position_ = records_consumed;
  }

  bool follow_shapes() override {
    if (!varying_) return false;
    const Batch& next = wait();
    if (next.error || next.items == items_) return false;
    items_ = next.items;
    return true;
  }

  void read(const std::vector<float*>& tops) override {
    CREMA_ASSERT(tops.size() == items_.size());
    std::unique_ptr<Batch> batch = take();
    if (batch->error) {
      // With the thread gone the next read() tries again, and meets the error again if it is still
      // there.
      stop();
      std::rethrow_exception(std::exchange(batch->error, nullptr));
    }
    CREMA_ASSERT(batch->items == items_);  // else the tops have the wrong size
    for (std::size_t i = 0; i < tops.size(); ++i) {
      std::memcpy(tops[i], batch->tops[i].data(), batch->tops[i].size() * sizeof(float));
    }
    std::swap(last_, batch->origins);
    position_ += static_cast<std::uint64_t>(batch_size_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      empty_.push_back(std::move(batch));
    }
    emptied_.notify_one();
  }

  std::string describe(int item) const override {
    if (item < 0 || static_cast<std::size_t>(item) >= last_.size()) return "";
    return source_->describe(last_[static_cast<std::size_t>(item)]);
  }

 private:
  /// The next batch, waited for; it stays in the queue, which nobody else takes from.
  const Batch& wait() {
    if (!thread_.joinable()) start();
    std::unique_lock<std::mutex> lock(mutex_);
    if (full_.empty()) {
      const auto begin = std::chrono::steady_clock::now();
      filled_.wait(lock, [&] { return !full_.empty(); });
      waited_ += std::chrono::steady_clock::now() - begin;
    }
    return *full_.front();
  }

  std::unique_ptr<Batch> take() {
    wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Batch> batch = std::move(full_.front());
    full_.pop_front();
    return batch;
  }

  void start() {
    std::int64_t bytes = 0;
    for (const Shape& shape : shapes(batch_size_)) bytes += shape.count() * 4;
    const std::int64_t fitting = kAutomaticBytes / std::max<std::int64_t>(bytes, 1);
    const int depth = depth_ > 0
                          ? depth_
                          : static_cast<int>(std::clamp<std::int64_t>(fitting, 1, kAutomaticDepth));
    // Memory comes with the first filling, in the thread, so that what is never reached costs
    // nothing.
    for (int i = 0; i < depth; ++i) empty_.push_back(std::make_unique<Batch>());
    stopping_ = false;
    position_at_start_ = position_;
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    emptied_.notify_one();
    thread_.join();
    empty_.clear();
    full_.clear();
  }

  /// The thread's body. An exception is a batch too; it is the last one.
  void run() {
    bool positioned = false;
    for (bool failed = false; !failed;) {
      std::unique_ptr<Batch> batch;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        emptied_.wait(lock, [&] { return stopping_ || !empty_.empty(); });
        if (stopping_) return;
        batch = std::move(empty_.front());
        empty_.pop_front();
      }
      try {
        if (!positioned) source_->seek(position_at_start_);
        positioned = true;
        fill(batch.get());
      } catch (...) {
        batch->error = std::current_exception();
        failed = true;
      }
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        full_.push_back(std::move(batch));
      }
      filled_.notify_one();
    }
  }

  void fill(Batch* batch) {
    if (varying_) {
      batch->items = source_->next_shapes();
    } else if (batch->items.empty()) {
      batch->items = source_->item_shapes();
    }
    const std::vector<Shape>& items = batch->items;
    batch->tops.resize(items.size());
    std::vector<float*> tops;
    for (std::size_t i = 0; i < items.size(); ++i) {
      batch->tops[i].resize(static_cast<std::size_t>(items[i].count() * batch_size_));
      tops.push_back(batch->tops[i].data());
    }
    batch->origins.resize(static_cast<std::size_t>(batch_size_));
    source_->read(batch_size_, tops, batch->origins.data());
  }

  const std::unique_ptr<BatchSource> source_;
  const bool varying_;
  const int depth_;
  std::vector<Shape> items_;  ///< shapes of the next batch, without the batch axis
  int batch_size_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t position_at_start_ = 0;  ///< position_ when the thread started
  std::vector<RecordOrigin> last_;
  std::chrono::duration<double> waited_{0};

  std::thread thread_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable filled_, emptied_;
  std::deque<std::unique_ptr<Batch>> empty_, full_;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<BatchReader> read_ahead(std::unique_ptr<BatchSource> source, int batch_size,
                                        int depth) {
  return std::make_unique<ReadAhead>(std::move(source), batch_size, depth);
}

int positive_int(std::uint32_t value, const char* field) {
  require(value >= 1 && value <= std::numeric_limits<int>::max(), "{} is {}; it can be 1 to {}",
          field, value, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

}  // namespace crema
