// The order in which an epoch takes the rows of a file that may be larger than memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/philox.h"
#include "data/permutation.h"

namespace crema {

/// In the file's own order, or shuffled: all rows with each other where the file is one block; else
/// the order of the blocks is drawn, and rows are shuffled among kBlocksTogether blocks that follow
/// each other in it. Every row comes once.
class RowOrder {
 public:
  static constexpr std::int64_t kBlocksTogether = 16;

  /// `block`: rows of a block. `random` and `epoch`: of the shuffling; without, the file's order.
  RowOrder(std::int64_t rows, std::int64_t block) : rows_(rows), block_(block) {}
  RowOrder(std::int64_t rows, std::int64_t block, const RandomStream& random, std::uint64_t epoch)
      : rows_(rows), block_(block), random_(random), epoch_(epoch) {
    if (block < rows) blocks_.emplace(random, epoch, blocks());
    if (block >= rows) within_.emplace(random, epoch, rows);
  }

  /// The row at place `i`; quickest for places one after the other.
  std::int64_t operator[](std::int64_t i) {
    if (!random_) return i;
    if (!blocks_) return (*within_)[i];
    if (!within_ || i < begin_ || i >= end_) find_window(i);
    std::int64_t row = (*within_)[i - begin_];
    for (std::int64_t place = window_ * kBlocksTogether;; ++place) {
      const std::int64_t size = size_of_place(place);
      if (row < size) return (*blocks_)[place] * block_ + row;
      row -= size;
    }
  }

 private:
  std::int64_t blocks() const { return (rows_ + block_ - 1) / block_; }
  /// Rows of the block at a place of the drawn order; only the file's last one can be shorter.
  std::int64_t size_of_place(std::int64_t place) const {
    return std::min(block_, rows_ - (*blocks_)[place] * block_);
  }

  /// Windows are kBlocksTogether blocks that follow each other in the drawn order.
  void find_window(std::int64_t i) {
    if (!within_ || i < begin_) {
      window_ = -1;
      end_ = 0;
    }
    do {
      begin_ = end_;
      ++window_;
      const std::int64_t first = window_ * kBlocksTogether;
      for (std::int64_t place = first; place < std::min(first + kBlocksTogether, blocks());
           ++place) {
        end_ += size_of_place(place);
      }
    } while (i >= end_);
    within_.emplace(*random_, (epoch_ << 32) + 1 + static_cast<std::uint64_t>(window_),
                    end_ - begin_);
  }

  std::int64_t rows_, block_;
  std::optional<RandomStream> random_;
  std::uint64_t epoch_ = 0;
  std::optional<Permutation> blocks_, within_;
  std::int64_t window_ = -1, begin_ = 0, end_ = 0;
};

}  // namespace crema
