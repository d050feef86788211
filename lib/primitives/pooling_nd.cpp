// One index of a loop is one output forward and one input backward, where it gathers from the
// windows that look at it. Compiled twice (kernels/device_tags.h).
#include "primitives/pooling_nd.h"

#include <cfloat>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {
namespace {

using Method = PoolingNdShape::Method;

/// A box of positions in an array of any number of axes, a row along the last axis at a time:
///
///   for (BoxRows rows = …; rows.more(); rows.next()) for (p = rows.first(); p < rows.last(); ++p)
class BoxRows {
 public:
  /// The inputs that a window looks at.
  CREMA_FUNCTOR static BoxRows of_window(const PoolingNdShape& shape, std::int64_t output) {
    BoxRows rows(shape.axes);
    for (int a = shape.axes - 1; a >= 0; --a) {
      rows.add(a, shape.axis[a].in, shape.axis[a].window(output % shape.axis[a].out));
      output /= shape.axis[a].out;
    }
    return rows;
  }
  /// The windows that look at an input.
  CREMA_FUNCTOR static BoxRows of_input(const PoolingNdShape& shape, std::int64_t input) {
    BoxRows rows(shape.axes);
    for (int a = shape.axes - 1; a >= 0; --a) {
      rows.add(a, shape.axis[a].out, shape.axis[a].windows(input % shape.axis[a].in));
      input /= shape.axis[a].in;
    }
    return rows;
  }

  CREMA_FUNCTOR bool more() const { return more_; }
  CREMA_FUNCTOR std::int64_t first() const { return row() + span_[axes_ - 1].first; }
  CREMA_FUNCTOR std::int64_t last() const { return row() + span_[axes_ - 1].last; }
  CREMA_FUNCTOR void next() {
    for (int a = axes_ - 2; a >= 0; --a) {
      if (++at_[a] < span_[a].last) return;
      at_[a] = span_[a].first;
    }
    more_ = false;
  }

 private:
  CREMA_FUNCTOR explicit BoxRows(int axes) : axes_(axes) {}
  CREMA_FUNCTOR void add(int axis, std::int64_t size, Span span) {
    size_[axis] = size;
    span_[axis] = span;
    at_[axis] = span.first;
    more_ = more_ && span.first < span.last;
  }
  /// Where the row begins.
  CREMA_FUNCTOR std::int64_t row() const {
    std::int64_t row = 0;
    for (int a = 0; a + 1 < axes_; ++a) row = (row + at_[a]) * size_[a + 1];
    return row;
  }

  int axes_;
  bool more_ = true;
  std::int64_t size_[PoolingNdShape::kMaxAxes], at_[PoolingNdShape::kMaxAxes];
  Span span_[PoolingNdShape::kMaxAxes];
};

/// What AVE divides by.
CREMA_FUNCTOR std::int64_t divisor(const PoolingNdShape& shape, std::int64_t output) {
  std::int64_t divisor = 1;
  for (int a = shape.axes - 1; a >= 0; --a) {
    divisor *= shape.axis[a].divisor(output % shape.axis[a].out);
    output /= shape.axis[a].out;
  }
  return divisor;
}

/// The first place whose value exceeds those before; -1 where none exceeds -FLT_MAX.
template <class T>
CREMA_FUNCTOR std::int32_t place_of_max(const PoolingNdShape& shape, std::int64_t output,
                                        const T* x) {
  T best = -static_cast<T>(FLT_MAX);
  std::int32_t winner = -1;
  for (BoxRows rows = BoxRows::of_window(shape, output); rows.more(); rows.next()) {
    for (std::int64_t p = rows.first(); p < rows.last(); ++p) {
      if (x[p] > best) {
        best = x[p];
        winner = static_cast<std::int32_t>(p);
      }
    }
  }
  return winner;
}

/// The sum of the window, added up from `start`.
template <class T>
CREMA_FUNCTOR T sum_of(const PoolingNdShape& shape, std::int64_t output, const T* x, T start) {
  T sum = start;
  for (BoxRows rows = BoxRows::of_window(shape, output); rows.more(); rows.next()) {
    for (std::int64_t p = rows.first(); p < rows.last(); ++p) sum += x[p];
  }
  return sum;
}

/// The first place up to which the window's sum reaches `threshold`, else (values below zero) the
/// last; -1 where there is NaN, so that no draw is possible.
template <class T>
CREMA_FUNCTOR std::int32_t place_of_draw(const PoolingNdShape& shape, std::int64_t output,
                                         const T* x, T threshold) {
  T sum = 0;
  std::int32_t place = -1;
  for (BoxRows rows = BoxRows::of_window(shape, output); rows.more(); rows.next()) {
    for (std::int64_t p = rows.first(); p < rows.last(); ++p) {
      sum += x[p];
      place = static_cast<std::int32_t>(p);
      if (sum >= threshold) return place;
    }
  }
  return threshold == threshold ? place : -1;
}

}  // namespace

/// `winners` (kMax, kDraw) or `sums` (kExpected) may be null where no one will ask.
template <class D, class T>
void pooling_nd_forward(const Device& device, PoolingNdShape shape, RandomStream stream,
                        std::uint64_t pass, const T* bottom, T* top, std::int32_t* winners,
                        T* sums) {
  const std::int64_t in_count = shape.in_count(), out_count = shape.out_count();
  std::int64_t kernel = 1;
  for (int a = 0; a < shape.axes; ++a) kernel *= shape.axis[a].kernel;
  parallel_for(
      D{}, device, shape.planes * out_count,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t output = i % out_count;
        const T* const x = bottom + i / out_count * in_count;
        if (shape.method == Method::kAverage) {
          top[i] = sum_of(shape, output, x, T(0)) / static_cast<T>(divisor(shape, output));
        } else if (shape.method == Method::kMax) {
          const std::int32_t winner = place_of_max(shape, output, x);
          top[i] = winner < 0 ? -static_cast<T>(FLT_MAX) : x[winner];
          if (winners != nullptr) winners[i] = winner;
        } else if (shape.method == Method::kDraw) {
          // In (0, 1], so that no element of probability 0 is drawn.
          const std::uint32_t bits = stream.bits(pass, static_cast<std::uint64_t>(i)) >> 8;
          const T sum = sum_of(shape, output, x, T(0));
          const std::int32_t winner =
              place_of_draw(shape, output, x, static_cast<T>(bits + 1) * T(0x1p-24) * sum);
          top[i] = winner < 0 ? sum : x[winner];
          if (winners != nullptr) winners[i] = winner;
        } else {
          // From FLT_MIN, so that a window of zeros gives 0.
          const T sum = sum_of(shape, output, x, static_cast<T>(FLT_MIN));
          T squares = 0;
          for (BoxRows rows = BoxRows::of_window(shape, output); rows.more(); rows.next()) {
            for (std::int64_t p = rows.first(); p < rows.last(); ++p) squares += x[p] * x[p];
          }
          top[i] = squares / sum;
          if (sums != nullptr) sums[i] = sum;
        }
      },
      2 * kernel + 20);
}

/// shares = top_gradient divided as AVE divides.
template <class D, class T>
void pooling_nd_shares(const Device& device, PoolingNdShape shape, const T* top_gradient,
                       T* shares) {
  const std::int64_t out_count = shape.out_count();
  parallel_for(
      D{}, device, shape.planes * out_count,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        shares[i] = top_gradient[i] / static_cast<T>(divisor(shape, i % out_count));
      },
      10 * shape.axes);
}

/// `gradient`: that of the top, for kAverage its shares. kExpected alone reads bottom, top and
/// sums.
template <class D, class T>
void pooling_nd_backward(const Device& device, PoolingNdShape shape, const T* bottom, const T* top,
                         const T* gradient, const std::int32_t* winners, const T* sums,
                         T* bottom_gradient) {
  const std::int64_t in_count = shape.in_count(), out_count = shape.out_count();
  parallel_for(
      D{}, device, shape.planes * in_count,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t first = i / in_count * out_count;
        const std::int64_t place = i % in_count;
        T sum = 0;
        for (BoxRows rows = BoxRows::of_input(shape, place); rows.more(); rows.next()) {
          for (std::int64_t o = first + rows.first(); o < first + rows.last(); ++o) {
            if (shape.method == Method::kAverage) {
              sum += gradient[o];
            } else if (shape.method == Method::kExpected) {
              sum += gradient[o] * (2 * bottom[i] - top[o]) / sums[o];
            } else if (winners[o] == place) {
              sum += gradient[o];
            }
          }
        }
        bottom_gradient[i] = sum;
      },
      30);
}

template <class D, class T>
void pooling_nd_mask(const Device& device, std::int64_t n, const std::int32_t* winners, T* mask) {
  parallel_for(D{}, device, n,
               [=] CREMA_LOOP_BODY(std::int64_t i) { mask[i] = static_cast<T>(winners[i]); });
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("pooling_nd.forward", &loops::pooling_nd_forward<Cuda, float>)
CREMA_CUDA_LOOP("pooling_nd.shares", &loops::pooling_nd_shares<Cuda, float>)
CREMA_CUDA_LOOP("pooling_nd.backward", &loops::pooling_nd_backward<Cuda, float>)
CREMA_CUDA_LOOP("pooling_nd.mask", &loops::pooling_nd_mask<Cuda, float>)

#else

void PoolingNd::forward(const Tensor& bottom, const Tensor& top, void* workspace,
                        std::uint64_t pass) const {
  const bool sums = shape_.method == PoolingNdShape::Method::kExpected;
  run_loop(device_, "pooling_nd.forward", &loops::pooling_nd_forward<Cpu, float>, shape_, stream_,
           pass, bottom.read(), top.write(),
           keep_ && !sums ? static_cast<std::int32_t*>(workspace) : nullptr,
           keep_ && sums ? static_cast<float*>(workspace) : nullptr);
}

void PoolingNd::backward(const Tensor& bottom, const Tensor& top, const Tensor& top_gradient,
                         const Tensor& bottom_gradient, const void* workspace,
                         void* scratch) const {
  const float* gradient = top_gradient.read();
  if (shape_.method == PoolingNdShape::Method::kAverage) {
    float* const shares = static_cast<float*>(scratch);
    run_loop(device_, "pooling_nd.shares", &loops::pooling_nd_shares<Cpu, float>, shape_, gradient,
             shares);
    gradient = shares;
  }
  const bool sums = shape_.method == PoolingNdShape::Method::kExpected;
  run_loop(device_, "pooling_nd.backward", &loops::pooling_nd_backward<Cpu, float>, shape_,
           sums ? bottom.read() : nullptr, sums ? top.read() : nullptr, gradient,
           static_cast<const std::int32_t*>(workspace), static_cast<const float*>(workspace),
           bottom_gradient.write());
}

void PoolingNd::write_mask(const void* workspace, const Tensor& mask) const {
  run_loop(device_, "pooling_nd.mask", &loops::pooling_nd_mask<Cpu, float>, tops(),
           static_cast<const std::int32_t*>(workspace), mask.write());
}

std::size_t PoolingNd::workspace_bytes() const {
  if (!keep_ || shape_.method == PoolingNdShape::Method::kAverage) return 0;
  return static_cast<std::size_t>(tops()) * sizeof(float);
}

std::size_t PoolingNd::scratch_bytes() const {
  if (!keep_ || shape_.method != PoolingNdShape::Method::kAverage) return 0;
  return static_cast<std::size_t>(tops()) * sizeof(float);
}

#endif

}  // namespace crema
