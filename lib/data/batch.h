// A batch that read_ahead.cpp fills, piece by piece.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "data/batch_source.h"
#include "tensor/shape.h"

namespace crema {

/// What became of one record.
struct Item {
  std::exception_ptr error;
  /// Only of an item whose shapes are not the source's usual ones: they, and its own memory.
  std::vector<Shape> shapes;
  Shape seen;
  std::vector<std::vector<float>> values;

  bool regular() const { return shapes.empty(); }
};

struct Batch {
  std::vector<std::vector<float>> tops;  ///< of regular items, in their places
  std::vector<std::unique_ptr<BatchSource::Record>> records;
  std::vector<Item> items;
  std::exception_ptr error;  ///< of fetching record number `fetched`
  int fetched = 0;
  int pending = 0;  ///< pieces, and its fetching; guarded by the reader's mutex

  // Found out when it is whole.
  bool examined = false;
  std::vector<int> good;  ///< items, in order
  const Item* first = nullptr;
  std::exception_ptr first_bad;
};

/// Some records of a batch, to be finished.
struct Piece {
  Batch* batch = nullptr;
  int begin = 0, end = 0;
};

/// Writes the items of a batch: the regular ones into their places, the others into memory of their
/// own.
class Target final : public ItemTarget {
 public:
  Target(Batch* batch, const std::vector<std::int64_t>& sizes) : batch_(*batch), sizes_(sizes) {
    pointers_.resize(sizes.size());
  }

  void go_to(int item) {
    item_ = item;
    Item& at = batch_.items[static_cast<std::size_t>(item)];
    at.error = nullptr;
    at.shapes.clear();
  }

  const std::vector<float*>& regular() override {
    for (std::size_t top = 0; top < sizes_.size(); ++top) {
      pointers_[top] = batch_.tops[top].data() + item_ * sizes_[top];
    }
    return pointers_;
  }

  const std::vector<float*>& other(const std::vector<Shape>& shapes, const Shape& seen) override {
    Item& at = batch_.items[static_cast<std::size_t>(item_)];
    at.shapes = shapes;
    at.seen = seen;
    at.values.resize(shapes.size());
    const auto views = static_cast<std::size_t>(views_);
    for (std::size_t top = 0; top < shapes.size(); ++top) {
      at.values[top].resize(static_cast<std::size_t>(shapes[top].count()) * views);
      pointers_[top] = at.values[top].data();
    }
    return pointers_;
  }

  void set_views(int views) { views_ = views; }

 private:
  Batch& batch_;
  const std::vector<std::int64_t>& sizes_;
  std::vector<float*> pointers_;
  int item_ = 0, views_ = 1;
};

}  // namespace crema
