// The two loops that every pointwise layer runs, on every device.
//
// A layer gives a value functor, a plain struct with its constants:
//
//   struct Square {
//     static constexpr bool kReadsBottom = true, kReadsTop = false;  // what dx() looks at
//     static constexpr bool kZeroAtZero = true;                      // y(0) is 0
//     static constexpr int kCost = 1;                                // in additions, roughly
//     static constexpr bool kDifferentiable = false;                 // where there is no gradient
//     template <class T> CREMA_FUNCTOR T y(T x) const { return x * x; }
//     template <class T> CREMA_FUNCTOR T dx(T x, T y, T dy) const { return 2 * x * dy; }
//   };
#pragma once

#include <cstdint>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {

/// What dx() is given for an array that it does not look at.
template <bool kRead, class T>
CREMA_FUNCTOR inline T read_if(const T* values, std::int64_t i) {
  if constexpr (kRead) {
    return values[i];
  } else {
    return T(0);
  }
}

/// y = f.y(x); y may be x.
template <class Tag, class F, class T>
void pointwise_forward(const Device& device, F f, std::int64_t n, const T* x, T* y) {
  if (x == y) {
    // With one pointer there is nothing to overlap, so that this loop vectorises as well.
    parallel_for(
        Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) { y[i] = f.y(y[i]); }, F::kCost);
  } else {
    parallel_for(
        Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) { y[i] = f.y(x[i]); }, F::kCost);
  }
}

/// dx = f.dx(x, y, dy); dx may be dy. x or y may be null where f does not read it.
template <class Tag, class F, class T>
void pointwise_backward(const Device& device, F f, std::int64_t n, const T* x, const T* y,
                        const T* dy, T* dx) {
  if (dy == dx) {
    parallel_for(
        Tag{}, device, n,
        [=] CREMA_LOOP_BODY(std::int64_t i) {
          dx[i] = f.dx(read_if<F::kReadsBottom>(x, i), read_if<F::kReadsTop>(y, i), dx[i]);
        },
        F::kCost);
  } else {
    parallel_for(
        Tag{}, device, n,
        [=] CREMA_LOOP_BODY(std::int64_t i) {
          dx[i] = f.dx(read_if<F::kReadsBottom>(x, i), read_if<F::kReadsTop>(y, i), dy[i]);
        },
        F::kCost);
  }
}

}  // namespace crema

/// Lists both loops of functor F, as NAME.forward and NAME.backward, for the CUDA plugin.
#define CREMA_POINTWISE(name, F)                                                         \
  CREMA_CUDA_LOOP(name ".forward", &::crema::pointwise_forward<::crema::Cuda, F, float>) \
  CREMA_CUDA_LOOP(name ".backward", &::crema::pointwise_backward<::crema::Cuda, F, float>)
