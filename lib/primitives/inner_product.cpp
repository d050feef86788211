// Products by gemm; bias and ReLU are added in one pass over the rows, while they are still in the
// cache.
#include "primitives/inner_product.h"

#include <algorithm>

#include "kernels/blas.h"
#include "kernels/instantiate.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace {

enum class Rectifier { kNone, kPlain, kLeaky };

/// y += bias in every row, then ReLU; NaN stays NaN.
template <bool kBias, Rectifier kRectifier, class T>
void finish_rows(const Device& device, std::int64_t m, std::int64_t n, const T* bias, T slope,
                 T* y) {
  parallel_ranges(device, m, n, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* const row = y + i * n;
      for (std::int64_t j = 0; j < n; ++j) {
        T value = row[j];
        if constexpr (kBias) value += bias[j];
        const T positive = value < T(0) ? T(0) : value;
        if constexpr (kRectifier == Rectifier::kPlain) value = positive;
        // A product under a condition would not vectorise.
        if constexpr (kRectifier == Rectifier::kLeaky) {
          value = positive + slope * (value < T(0) ? value : T(0));
        }
        row[j] = value;
      }
    }
  });
}

template <Rectifier kRectifier, class T>
void finish_rows(const Device& device, std::int64_t m, std::int64_t n, const T* bias, T slope,
                 T* y) {
  if (bias != nullptr) {
    finish_rows<true, kRectifier>(device, m, n, bias, slope, y);
  } else if (kRectifier != Rectifier::kNone) {
    finish_rows<false, kRectifier>(device, m, n, bias, slope, y);
  }
}

/// y[j] (+)= sum of the rows of x.
template <class T>
void add_sum_rows(const Device& device, std::int64_t m, std::int64_t n, const T* x, bool accumulate,
                  T* y) {
  if constexpr (std::is_same_v<T, float>) {
    sum_rows(device, m, n, x, accumulate, y);
  } else {
    if (!accumulate) std::fill_n(y, n, T(0));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) y[j] += x[i * n + j];
    }
  }
}

}  // namespace

template <class T>
void inner_product_forward(const Device& device, const InnerProductShape& shape, const T* bottom,
                           const T* weights, const T* bias, bool relu,
                           std::type_identity_t<T> slope, T* top) {
  const auto [m, n, k, transposed] = shape;
  gemm(device, Transpose::kNo, transposed ? Transpose::kNo : Transpose::kYes, m, n, k, T(1), bottom,
       k, weights, transposed ? n : k, T(0), top, n);
  if (!relu) {
    finish_rows<Rectifier::kNone>(device, m, n, bias, slope, top);
  } else if (slope == T(0)) {
    finish_rows<Rectifier::kPlain>(device, m, n, bias, slope, top);
  } else {
    finish_rows<Rectifier::kLeaky>(device, m, n, bias, slope, top);
  }
}

template <class T>
void inner_product_backward_bottom(const Device& device, const InnerProductShape& shape,
                                   const T* top_gradient, const T* weights, T* bottom_gradient) {
  const auto [m, n, k, transposed] = shape;
  gemm(device, Transpose::kNo, transposed ? Transpose::kYes : Transpose::kNo, m, k, n, T(1),
       top_gradient, n, weights, transposed ? n : k, T(0), bottom_gradient, k);
}

template <class T>
void inner_product_backward_params(const Device& device, const InnerProductShape& shape,
                                   const T* bottom, const T* top_gradient, bool accumulate,
                                   T* weight_gradient, bool accumulate_bias, T* bias_gradient) {
  const auto [m, n, k, transposed] = shape;
  if (weight_gradient != nullptr) {
    const T beta = accumulate ? T(1) : T(0);
    if (transposed) {
      gemm(device, Transpose::kYes, Transpose::kNo, k, n, m, T(1), bottom, k, top_gradient, n, beta,
           weight_gradient, n);
    } else {
      gemm(device, Transpose::kYes, Transpose::kNo, n, k, m, T(1), top_gradient, n, bottom, k, beta,
           weight_gradient, k);
    }
  }
  if (bias_gradient != nullptr) {
    add_sum_rows(device, m, n, top_gradient, accumulate_bias, bias_gradient);
  }
}

#define CREMA_INSTANTIATE(T)                                                                       \
  template void inner_product_forward(const Device&, const InnerProductShape&, const T*, const T*, \
                                      const T*, bool, T, T*);                                      \
  template void inner_product_backward_bottom(const Device&, const InnerProductShape&, const T*,   \
                                              const T*, T*);                                       \
  template void inner_product_backward_params(const Device&, const InnerProductShape&, const T*,   \
                                              const T*, bool, T*, bool, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

}  // namespace crema
