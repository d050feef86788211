// What the tests of primitives share: random blobs in any layout, and comparison.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <dnnl.hpp>
#include <random>
#include <string>
#include <vector>

#include "primitives/layouts.h"
#include "tensor/tensor.h"

namespace crema::testing {

inline std::vector<float> random_values(std::int64_t count, unsigned seed, float low = -1,
                                        float high = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = distribution(engine);
  return values;
}

inline std::vector<double> in_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// A tensor with its memory.
class Blob {
 public:
  Blob(Device& device, const Shape& shape, const Layout& layout)
      : buffer_(device, static_cast<std::size_t>(layout.elements(shape)) * sizeof(float)),
        tensor_(device, shape, layout, buffer_.floats()) {}

  /// Holds `plain`, given in plain order.
  Blob(Device& device, const Shape& shape, const Layout& layout, const std::vector<float>& plain)
      : Blob(device, shape, layout) {
    Blob from(device, shape, Layout());
    from.tensor().copy_from_host(plain.data());
    reorder(from.tensor(), tensor_);
  }

  const Tensor& tensor() const { return tensor_; }
  /// In plain order.
  std::vector<float> plain() const {
    Blob to(tensor_.device(), tensor_.shape(), Layout());
    reorder(tensor_, to.tensor());
    return to.raw();
  }
  /// As it lies in memory.
  std::vector<float> raw() const {
    std::vector<float> values(static_cast<std::size_t>(tensor_.elements()));
    tensor_.copy_to_host(values.data());
    return values;
  }
  void fill(float value) const {
    std::fill(tensor_.write(), tensor_.write() + tensor_.elements(), value);
  }

 private:
  Buffer buffer_;
  Tensor tensor_;
};

/// The largest difference, relative to the largest value expected.
template <class A, class B>
double distance(const std::vector<A>& got, const std::vector<B>& expected) {
  if (got.size() != expected.size()) return INFINITY;
  double largest = 1e-30;
  double difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (std::isnan(error)) return INFINITY;
    difference = std::max(difference, error);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return difference / largest;
}

/// Sum of products: for "A x . y = x . A^T y".
template <class T>
double inner(const std::vector<T>& a, const std::vector<T>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

/// oneDNN has fast convolutions on this machine (and with this ONEDNN_MAX_CPU_ISA).
inline bool onednn_is_fast() {
  return static_cast<int>(dnnl::get_effective_cpu_isa()) >= static_cast<int>(dnnl::cpu_isa::avx2);
}

}  // namespace crema::testing
