// Rows of a table that are chosen by indices, which come as floats in a blob of their own and are
// cut to integers, as Caffe does.
#pragma once

#include <cstdint>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/row_chunks.h"
#include "tensor/tensor.h"

namespace crema {

/// Position of the first index that names none of `rows` rows (NaN is one), or -1. The loops below
/// do not look.
std::int64_t first_bad_index(const Tensor& index, std::int64_t rows);

/// to[i] = table[index[i]] (+ offset, unless it is null) for `items` rows of `length` elements.
template <class Tag, class T>
void gather_rows(const Device& device, std::int64_t items, std::int64_t length, const T* index,
                 const T* table, const T* offset, T* to) {
  const RowChunks chunks = row_chunks(Tag{}, length);
  parallel_for(
      Tag{}, device, items * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t item = chunks.row(i), end = chunks.end(i);
        const T* const from = table + static_cast<std::int64_t>(index[item]) * length;
        T* const target = to + item * length;
        if (offset != nullptr) {
          for (std::int64_t j = chunks.begin(i); j < end; ++j) target[j] = from[j] + offset[j];
        } else {
          for (std::int64_t j = chunks.begin(i); j < end; ++j) target[j] = from[j];
        }
      },
      chunks.size);
}

/// table[index[i]] += from[i], in the order of i for each element, so that the sums are the same
/// for any number of threads: those share the columns.
template <class Tag, class T>
void scatter_add_rows(const Device& device, std::int64_t items, std::int64_t length, const T* index,
                      const T* from, T* table) {
  const RowChunks chunks = row_chunks(Tag{}, length, 64);
  parallel_for(
      Tag{}, device, length > 0 ? chunks.per_row : 0,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t begin = chunks.begin(i), end = chunks.end(i);
        for (std::int64_t item = 0; item < items; ++item) {
          T* const target = table + static_cast<std::int64_t>(index[item]) * length;
          const T* const source = from + item * length;
          for (std::int64_t j = begin; j < end; ++j) target[j] += source[j];
        }
      },
      items * chunks.size);
}

}  // namespace crema
