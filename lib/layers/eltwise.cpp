// Eltwise (n >= 2 bottoms of equal shape, 1 top of that shape): sum, product or maximum.
//
//   SUM   y = sum of c_i x_i           dx_i = c_i dy
//   PROD  y = product of x_i           dx_i = dy * product of x_j, j != i
//                                      or, with stable_prod_grad: false, dy * y / x_i
//   MAX   y = max of x_i               dx_i = dy where x_i won, else 0
//
// Bottom 0 wins over bottom 1 only if it is greater, a later one only if it is greater than the
// best before it. A NaN wins.
//
// More than two bottoms are taken in one after the other. Of MAX, the workspace keeps who won. SUM
// works in place with two bottoms; backward, the gradient of bottom 0 is that of the top if its
// coefficient is 1, so that a residual sum writes one gradient only.
#include <cstdint>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/pointwise.h"

namespace crema {

struct WeightedSum {
  float first, second;
  template <class T>
  CREMA_FUNCTOR T operator()(T a, T b) const {
    return T(first) * a + T(second) * b;
  }
};
struct Product {
  template <class T>
  CREMA_FUNCTOR T operator()(T a, T b) const {
    return a * b;
  }
};
struct Quotient {
  template <class T>
  CREMA_FUNCTOR T operator()(T a, T b) const {
    return a / b;
  }
};
/// Greater, or NaN. Without a branch, so that loops vectorise.
template <class T>
CREMA_FUNCTOR inline bool beats(T a, T b) {
  return (static_cast<int>(a > b) | static_cast<int>(a != a)) != 0;
}

struct Larger {
  template <class T>
  CREMA_FUNCTOR T operator()(T best, T next) const {
    return beats(next, best) ? next : best;
  }
};

/// y = f(a, b); y may be a.
template <class Tag, class F, class T>
void combine(const Device& device, F f, std::int64_t n, const T* a, const T* b, T* y) {
  if (a == y) {
    // One pointer less, so that this loop vectorises as well.
    parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) { y[i] = f(y[i], b[i]); });
  } else {
    parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) { y[i] = f(a[i], b[i]); });
  }
}

/// The first two of a maximum: who won, and what.
template <class Tag, class T>
void max_of_two(const Device& device, std::int64_t n, const T* a, const T* b, std::int32_t* winner,
                T* y) {
  parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) {
    const T x0 = a[i], x1 = b[i];
    const bool first = beats(x0, x1);
    winner[i] = first ? 0 : 1;
    y[i] = first ? x0 : x1;
  });
}

/// Bottom k against the best before it.
template <class Tag, class T>
void max_with(const Device& device, std::int64_t n, std::int32_t k, const T* x,
              std::int32_t* winner, T* y) {
  parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) {
    const T next = x[i], best = y[i];
    const bool wins = beats(next, best);
    winner[i] = wins ? k : winner[i];
    y[i] = wins ? next : best;
  });
}

template <class Tag, class T>
void max_gradient(const Device& device, std::int64_t n, std::int32_t k, const std::int32_t* winner,
                  const T* dy, T* dx) {
  parallel_for(Tag{}, device, n,
               [=] CREMA_LOOP_BODY(std::int64_t i) { dx[i] = winner[i] == k ? dy[i] : T(0); });
}

/// The gradient of a sum; pointwise_forward() runs it.
struct Scaled {
  static constexpr int kCost = 1;
  float factor;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return T(factor) * x;
  }
};

CREMA_CUDA_LOOP("eltwise.sum", &combine<Cuda, WeightedSum, float>)
CREMA_CUDA_LOOP("eltwise.product", &combine<Cuda, Product, float>)
CREMA_CUDA_LOOP("eltwise.quotient", &combine<Cuda, Quotient, float>)
CREMA_CUDA_LOOP("eltwise.max", &combine<Cuda, Larger, float>)
CREMA_CUDA_LOOP("eltwise.scale", &pointwise_forward<Cuda, Scaled, float>)
CREMA_CUDA_LOOP("eltwise.max_of_two", &max_of_two<Cuda, float>)
CREMA_CUDA_LOOP("eltwise.max_with", &max_with<Cuda, float>)
CREMA_CUDA_LOOP("eltwise.max_gradient", &max_gradient<Cuda, float>)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/fields.h"

namespace crema {
namespace {

using Operation = caffe::EltwiseParameter;

template <class F>
void run_combine(const RunContext& run, const char* name, F f, const Tensor& a, const Tensor& b,
                 const Tensor& y) {
  run_loop(run.device, name, &combine<Cpu, F, float>, f, y.elements(), a.read(), b.read(),
           y.write());
}

class SumOp final : public Op {
 public:
  explicit SumOp(std::vector<float> coefficients) : coefficients_(std::move(coefficients)) {}

  void forward(const RunContext& run) override {
    const Tensor& top = run.tops[0];
    run_combine(run, "eltwise.sum", WeightedSum{coefficients_[0], coefficients_[1]}, run.bottoms[0],
                run.bottoms[1], top);
    for (std::size_t i = 2; i < run.bottoms.size(); ++i) {
      run_combine(run, "eltwise.sum", WeightedSum{1, coefficients_[i]}, top, run.bottoms[i], top);
    }
  }

  void backward(const RunContext& run) override {
    const Tensor& dy = run.top_gradients[0];
    // Bottom 0 last: its gradient may lie over that of the top, which the others read.
    for (std::size_t i = run.bottoms.size(); i-- > 0;) {
      const Tensor& dx = run.bottom_gradients[i];
      if (!dx) continue;
      if (!dy) {
        dx.fill_zero();
      } else if (coefficients_[i] == 1) {
        dy.copy_to(dx);
      } else {
        run_loop(run.device, "eltwise.scale", &pointwise_forward<Cpu, Scaled, float>,
                 Scaled{coefficients_[i]}, dx.elements(), dy.read(), dx.write());
      }
    }
  }

 private:
  std::vector<float> coefficients_;
};

class ProductOp final : public Op {
 public:
  explicit ProductOp(bool stable) : stable_(stable) {}

  void forward(const RunContext& run) override {
    const Tensor& top = run.tops[0];
    run_combine(run, "eltwise.product", Product{}, run.bottoms[0], run.bottoms[1], top);
    for (std::size_t i = 2; i < run.bottoms.size(); ++i) {
      run_combine(run, "eltwise.product", Product{}, top, run.bottoms[i], top);
    }
  }

  void backward(const RunContext& run) override {
    const Tensor& dy = run.top_gradients[0];
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      const Tensor& dx = run.bottom_gradients[i];
      if (!dx) continue;
      if (!dy) {
        dx.fill_zero();
      } else if (stable_) {
        of_the_others(run, i, dx);
      } else {
        run_combine(run, "eltwise.quotient", Quotient{}, run.tops[0], run.bottoms[i], dx);
        run_combine(run, "eltwise.product", Product{}, dx, dy, dx);
      }
    }
  }

 private:
  static void of_the_others(const RunContext& run, std::size_t i, const Tensor& dx) {
    Tensor product = run.top_gradients[0];
    for (std::size_t j = 0; j < run.bottoms.size(); ++j) {
      if (j == i) continue;
      run_combine(run, "eltwise.product", Product{}, product, run.bottoms[j], dx);
      product = dx;
    }
  }

  bool stable_;
};

class MaxOp final : public Op {
 public:
  explicit MaxOp(const PlanRequest& request) : keeps_winners_(request.any_gradient()) {
    if (keeps_winners_) {
      workspace_bytes_ =
          static_cast<std::size_t>(request.top_layouts[0].elements(request.tops[0])) *
          sizeof(std::int32_t);
    }
  }

  void forward(const RunContext& run) override {
    const Tensor& top = run.tops[0];
    auto* const winner = static_cast<std::int32_t*>(run.workspace);
    if (keeps_winners_) {
      run_loop(run.device, "eltwise.max_of_two", &max_of_two<Cpu, float>, top.elements(),
               run.bottoms[0].read(), run.bottoms[1].read(), winner, top.write());
    } else {
      run_combine(run, "eltwise.max", Larger{}, run.bottoms[0], run.bottoms[1], top);
    }
    for (std::size_t i = 2; i < run.bottoms.size(); ++i) {
      if (keeps_winners_) {
        run_loop(run.device, "eltwise.max_with", &max_with<Cpu, float>, top.elements(),
                 static_cast<std::int32_t>(i), run.bottoms[i].read(), winner, top.update());
      } else {
        run_combine(run, "eltwise.max", Larger{}, top, run.bottoms[i], top);
      }
    }
  }

  void backward(const RunContext& run) override {
    const Tensor& dy = run.top_gradients[0];
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      const Tensor& dx = run.bottom_gradients[i];
      if (!dx) continue;
      if (dy) {
        run_loop(run.device, "eltwise.max_gradient", &max_gradient<Cpu, float>, dx.elements(),
                 static_cast<std::int32_t>(i), static_cast<const std::int32_t*>(run.workspace),
                 dy.read(), dx.write());
      } else {
        dx.fill_zero();
      }
    }
  }

 private:
  bool keeps_winners_;
};

class EltwiseLayer final : public Layer {
 public:
  explicit EltwiseLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const int given = parameter().coeff_size();
    require(given == 0 || given == definition.bottom_size(),
            "eltwise_param.coeff is given {} times for {} bottoms; give none, or one a bottom",
            given, definition.bottom_size());
    require(given == 0 || operation() != Operation::PROD,
            "eltwise_param.coeff has no meaning with operation: PROD, only with SUM");
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    for (std::size_t i = 1; i < bottoms.size(); ++i) {
      require(bottoms[i] == bottoms[0],
              "bottoms must have the same shape: bottom 0 is {}, bottom {} is {}", bottoms[0].str(),
              i, bottoms[i].str());
    }
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  // Not any_layout(), which would bring all bottoms into the layout of bottom 0: here the cheaper
  // one is chosen.
  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    if (operation() == Operation::PROD) return std::make_unique<ProductOp>(stable());
    if (operation() == Operation::MAX) return std::make_unique<MaxOp>(request);
    std::vector<float> coefficients(parameter().coeff().begin(), parameter().coeff().end());
    coefficients.resize(request.bottoms.size(), 1);
    return std::make_unique<SumOp>(std::move(coefficients));
  }

  bool backward_reads_bottom(int) const override { return operation() == Operation::PROD; }
  bool backward_reads_top(int) const override {
    return operation() == Operation::PROD && !stable();
  }
  // Bottoms may be views of one value. With two, each element is read before it is overwritten; a
  // third would come too late.
  bool forward_in_place() const override {
    return operation() == Operation::SUM && definition().bottom_size() == 2;
  }
  bool backward_in_place() const override { return operation() == Operation::SUM; }

 private:
  const caffe::EltwiseParameter& parameter() const { return definition().eltwise_param(); }
  Operation::EltwiseOp operation() const { return parameter().operation(); }
  bool stable() const { return parameter().stable_prod_grad(); }
};

}  // namespace

std::unique_ptr<Layer> make_eltwise(const caffe::LayerParameter& definition) {
  return std::make_unique<EltwiseLayer>(definition);
}

}  // namespace crema
#endif
