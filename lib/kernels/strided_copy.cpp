// On the CPU whole rows of the innermost axis are copied, and the elements, not the rows, are cut
// among the threads, so that a few long rows keep all of them busy. On a GPU each element finds its
// own place.
#include "kernels/strided_copy.h"

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {

template <class Tag, class T>
void strided_copy_elements(const Device& device, StridedCopy box, const T* from, T* to) {
  parallel_for(Tag{}, device, box.count(), [=] CREMA_LOOP_BODY(std::int64_t i) {
    const StridedCopy::Place place = box.place(i);
    to[place.to] = from[place.from];
  });
}

CREMA_CUDA_LOOP("strided_copy", &strided_copy_elements<Cuda, float>)

}  // namespace crema

#ifndef __CUDACC__
#include <cstring>

#include "base/error.h"

namespace crema {
namespace {

void strided_copy_rows(const Device& device, StridedCopy box, const float* from, float* to) {
  const std::int64_t row = box.row_length();
  const std::int64_t from_stride = box.row_from_stride(), to_stride = box.row_to_stride();
  parallel_ranges(device, box.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t n = std::min(row - i % row, end - i);
      const StridedCopy::Place place = box.place(i);
      const float* const source = from + place.from;
      float* const target = to + place.to;
      if (from_stride == 1 && to_stride == 1) {
        std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(float));
      } else {
        for (std::int64_t j = 0; j < n; ++j) target[j * to_stride] = source[j * from_stride];
      }
      i += n;
    }
  });
}

}  // namespace

void StridedCopy::add_axis(std::int64_t size, std::int64_t from_stride, std::int64_t to_stride) {
  CREMA_ASSERT(size >= 0);
  count_ *= size;
  if (axes_ > 0) {
    if (size == 1) return;
    const int last = axes_ - 1;
    const bool merges =
        from_stride_[last] == size * from_stride && to_stride_[last] == size * to_stride;
    if (size_[last] == 1 || merges) {
      size_[last] *= size;
      from_stride_[last] = from_stride;
      to_stride_[last] = to_stride;
      return;
    }
  }
  CREMA_ASSERT(axes_ < kMaxAxes);
  size_[axes_] = size;
  from_stride_[axes_] = from_stride;
  to_stride_[axes_] = to_stride;
  ++axes_;
}

void strided_copy(Device& device, const StridedCopy& box, const float* from, float* to) {
  if (box.count() == 0) return;
  CREMA_ASSERT(box.axes() > 0);
  run_loop(device, "strided_copy", &strided_copy_rows, box, from, to);
}

}  // namespace crema
#endif
