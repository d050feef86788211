// The hyperbolic tangent as a pointwise functor: of the TanH layer and of RNN's units. TanH lists
// its loops ("tanh.forward", "tanh.backward") for other devices.
#pragma once

#include "kernels/fast_tanh.h"

namespace crema {

struct TanhValue {
  static constexpr bool kReadsBottom = false, kReadsTop = true;
  static constexpr bool kZeroAtZero = true;
  static constexpr int kCost = 4;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return fast_tanh(x);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T y, T dy) const {
    return dy * (1 - y * y);
  }
};

}  // namespace crema
