// Power (1 bottom, 1 top): a power of a linear function.
//
//   y = (shift + scale * x)^power        dx = dy * power * scale * (shift + scale * x)^(power - 1)
//
// With power 0 that is 1 and with scale 0 shift^power, whatever x is, and dx is 0. Powers 1 and 2
// have loops of their own.
#include <cmath>

#include "kernels/pointwise.h"

namespace crema {

/// scale * power is 0.
struct ConstantPower {
  static constexpr bool kReadsBottom = false, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 1;
  float value;
  template <class T>
  CREMA_FUNCTOR T y(T) const {
    return T(value);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T, T) const {
    return T(0);
  }
};

struct FirstPower {
  static constexpr bool kReadsBottom = false, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 1;
  float scale, shift;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return T(scale) * x + T(shift);
  }
  template <class T>
  CREMA_FUNCTOR T dx(T, T, T dy) const {
    return T(scale) * dy;
  }
};

struct SecondPower {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 1;
  float scale, shift;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    const T base = T(scale) * x + T(shift);
    return base * base;
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    return 2 * T(scale) * (T(scale) * x + T(shift)) * dy;
  }
};

struct AnyPower {
  static constexpr bool kReadsBottom = true, kReadsTop = false;
  static constexpr bool kZeroAtZero = false;
  static constexpr int kCost = 32;
  float power, scale, shift;
  template <class T>
  CREMA_FUNCTOR T y(T x) const {
    return std::pow(T(scale) * x + T(shift), T(power));
  }
  template <class T>
  CREMA_FUNCTOR T dx(T x, T, T dy) const {
    return dy * T(power) * T(scale) * std::pow(T(scale) * x + T(shift), T(power) - 1);
  }
};

CREMA_POINTWISE("power.constant", ConstantPower)
CREMA_POINTWISE("power.1", FirstPower)
CREMA_POINTWISE("power.2", SecondPower)
CREMA_POINTWISE("power", AnyPower)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_power(const caffe::LayerParameter& definition) {
  const float power = definition.power_param().power();
  const float scale = definition.power_param().scale();
  const float shift = definition.power_param().shift();
  if (scale * power == 0) {
    return std::make_unique<PointwiseLayer<ConstantPower>>(
        definition, "power.constant", ConstantPower{power == 0 ? 1 : std::pow(shift, power)});
  }
  if (power == 1) {
    return std::make_unique<PointwiseLayer<FirstPower>>(definition, "power.1",
                                                        FirstPower{scale, shift});
  }
  if (power == 2) {
    return std::make_unique<PointwiseLayer<SecondPower>>(definition, "power.2",
                                                         SecondPower{scale, shift});
  }
  return std::make_unique<PointwiseLayer<AnyPower>>(definition, "power",
                                                    AnyPower{power, scale, shift});
}

}  // namespace crema
#endif
