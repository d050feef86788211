// Reduction (1 bottom, 1 top): all axes from `axis` on become one number; the top has the axes
// before it.
//
//   SUM    y = c * sum of x            dx = c dy
//   MEAN   y = c * mean of x           dx = c dy / count
//   ASUM   y = c * sum of |x|          dx = c dy sign(x)
//   SUMSQ  y = c * sum of x^2          dx = 2 c dy x
//
// c is coeff. Sums are in double and made of blocks of a fixed size, so that they are the same for
// any number of threads. The mean of no values is 0. With axis 0 or 1 the bottom may be
// channels-last.
#include <cmath>
#include <cstdint>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/pointwise.h"
#include "kernels/row_chunks.h"

namespace crema {

struct PlainSum {
  static constexpr bool kReadsBottom = false;
  template <class T>
  CREMA_FUNCTOR double value(T x) const {
    return static_cast<double>(x);
  }
  template <class T>
  CREMA_FUNCTOR T slope(T) const {
    return T(1);
  }
};
struct AbsoluteSum {
  static constexpr bool kReadsBottom = true;
  template <class T>
  CREMA_FUNCTOR double value(T x) const {
    return static_cast<double>(std::abs(x));
  }
  template <class T>
  CREMA_FUNCTOR T slope(T x) const {
    return static_cast<T>(x > 0) - static_cast<T>(x < 0);
  }
};
struct SquareSum {
  static constexpr bool kReadsBottom = true;
  template <class T>
  CREMA_FUNCTOR double value(T x) const {
    return static_cast<double>(x) * static_cast<double>(x);
  }
  template <class T>
  CREMA_FUNCTOR T slope(T x) const {
    return 2 * x;
  }
};

/// A sum for every block of every row.
template <class Tag, class F, class T>
void sum_blocks(const Device& device, F f, std::int64_t rows, RowChunks blocks, const T* x,
                double* sums) {
  parallel_for(
      Tag{}, device, rows * blocks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t index) {
        const T* const from = x + blocks.row(index) * blocks.length;
        const std::int64_t end = blocks.end(index);
        std::int64_t i = blocks.begin(index);
        // Sums beside each other, for vector registers.
        constexpr int kLanes = 16;
        double lanes[kLanes] = {};
        for (; i + kLanes <= end; i += kLanes) {
          for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += f.value(from[i + lane]);
        }
        double sum = 0;
        for (; i < end; ++i) sum += f.value(from[i]);
        for (int lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
        sums[index] = sum;
      },
      blocks.length < blocks.size ? blocks.length : blocks.size);
}

/// y = factor * the sum of a row's blocks.
template <class Tag, class T>
void sum_of_blocks(const Device& device, std::int64_t rows, std::int64_t blocks, double factor,
                   const double* sums, T* y) {
  parallel_for(
      Tag{}, device, rows,
      [=] CREMA_LOOP_BODY(std::int64_t row) {
        double sum = 0;
        for (std::int64_t i = 0; i < blocks; ++i) sum += sums[row * blocks + i];
        y[row] = static_cast<T>(factor * sum);
      },
      blocks);
}

/// dx = factor * dy * slope(x); x may be null where the slope is 1.
template <class Tag, class F, class T>
void reduction_gradient(const Device& device, F f, std::int64_t rows, std::int64_t length,
                        double factor, const T* x, const T* dy, T* dx) {
  const RowChunks chunks = row_chunks(Tag{}, length);
  parallel_for(
      Tag{}, device, rows * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t index) {
        const std::int64_t row = chunks.row(index), end = row * length + chunks.end(index);
        const T scale = static_cast<T>(factor * static_cast<double>(dy[row]));
        for (std::int64_t i = row * length + chunks.begin(index); i < end; ++i) {
          dx[i] = scale * f.slope(read_if<F::kReadsBottom>(x, i));
        }
      },
      length < chunks.size ? length : chunks.size);
}

CREMA_CUDA_LOOP("reduction.sum", &sum_blocks<Cuda, PlainSum, float>)
CREMA_CUDA_LOOP("reduction.asum", &sum_blocks<Cuda, AbsoluteSum, float>)
CREMA_CUDA_LOOP("reduction.sumsq", &sum_blocks<Cuda, SquareSum, float>)
CREMA_CUDA_LOOP("reduction.blocks", &sum_of_blocks<Cuda, float>)
CREMA_CUDA_LOOP("reduction.sum.gradient", &reduction_gradient<Cuda, PlainSum, float>)
CREMA_CUDA_LOOP("reduction.asum.gradient", &reduction_gradient<Cuda, AbsoluteSum, float>)
CREMA_CUDA_LOOP("reduction.sumsq.gradient", &reduction_gradient<Cuda, SquareSum, float>)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

using Operation = caffe::ReductionParameter;

template <class F>
class ReductionOp final : public Op {
 public:
  /// `name` as in CREMA_CUDA_LOOP.
  ReductionOp(const std::string& name, std::int64_t rows, std::int64_t length, double factor)
      : forward_(name),
        backward_(name + ".gradient"),
        rows_(rows),
        length_(length),
        factor_(factor),
        blocks_(chunks_of(length, kBlock)) {
    scratch_bytes_ = static_cast<std::size_t>(rows * blocks_.per_row) * sizeof(double);
  }

  void forward(const RunContext& run) override {
    auto* const sums = static_cast<double*>(run.scratch);
    run_loop(run.device, forward_.c_str(), &sum_blocks<Cpu, F, float>, F{}, rows_, blocks_,
             run.bottoms[0].read(), sums);
    run_loop(run.device, "reduction.blocks", &sum_of_blocks<Cpu, float>, rows_, blocks_.per_row,
             factor_, static_cast<const double*>(sums), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    const Tensor& gradient = run.bottom_gradients[0];
    if (!run.top_gradients[0]) {
      gradient.fill_zero();
      return;
    }
    run_loop(run.device, backward_.c_str(), &reduction_gradient<Cpu, F, float>, F{}, rows_, length_,
             factor_, F::kReadsBottom ? run.bottoms[0].read() : nullptr,
             run.top_gradients[0].read(), gradient.write());
  }

 private:
  static constexpr std::int64_t kBlock = 4096;

  std::string forward_, backward_;
  std::int64_t rows_, length_;
  double factor_;
  RowChunks blocks_;
};

class ReductionLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const auto dims = bottoms[0].dims();
    Inference inference;
    inference.tops.emplace_back(dims.subspan(0, static_cast<std::size_t>(axis(bottoms[0]))));
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (axis(request.bottoms[0]) > 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    const std::int64_t rows = bottom.count(0, axis(bottom));
    const std::int64_t length = bottom.count_from(axis(bottom));
    double factor = static_cast<double>(parameter().coeff());
    if (operation() == Operation::MEAN && length > 0) factor /= static_cast<double>(length);
    switch (operation()) {
      case Operation::ASUM:
        return std::make_unique<ReductionOp<AbsoluteSum>>("reduction.asum", rows, length, factor);
      case Operation::SUMSQ:
        return std::make_unique<ReductionOp<SquareSum>>("reduction.sumsq", rows, length, factor);
      default:
        return std::make_unique<ReductionOp<PlainSum>>("reduction.sum", rows, length, factor);
    }
  }
  bool backward_reads_bottom(int) const override {
    return operation() == Operation::ASUM || operation() == Operation::SUMSQ;
  }

 private:
  const caffe::ReductionParameter& parameter() const { return definition().reduction_param(); }
  Operation::ReductionOp operation() const { return parameter().operation(); }
  int axis(const Shape& bottom) const {
    return axis_of(bottom, parameter().axis(), "reduction_param.axis");
  }
};

}  // namespace

std::unique_ptr<Layer> make_reduction(const caffe::LayerParameter& definition) {
  return std::make_unique<ReductionLayer>(definition);
}

}  // namespace crema
#endif
