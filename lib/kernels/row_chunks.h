// Rows of elements cut into chunks, one an index of parallel_for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/device_tags.h"

namespace crema {

/// Chunk `i` of all rows is elements begin(i) .. end(i)-1 of row(i).
struct RowChunks {
  std::int64_t length, size, per_row;

  CREMA_FUNCTOR std::int64_t row(std::int64_t i) const { return i / per_row; }
  CREMA_FUNCTOR std::int64_t begin(std::int64_t i) const { return i % per_row * size; }
  CREMA_FUNCTOR std::int64_t end(std::int64_t i) const {
    const std::int64_t end = begin(i) + size;
    return end < length ? end : length;
  }
};

inline RowChunks chunks_of(std::int64_t length, std::int64_t size) {
  return {length, size, std::max<std::int64_t>((length + size - 1) / size, 1)};
}

/// On the CPU as many elements as make an inner loop that vectorises; on a GPU every element has
/// its own index.
inline RowChunks row_chunks(Cpu, std::int64_t length, std::int64_t size = 1024) {
  return chunks_of(length, size);
}
inline RowChunks row_chunks(Cuda, std::int64_t length, std::int64_t /*size*/ = 0) {
  return chunks_of(length, 1);
}

}  // namespace crema
