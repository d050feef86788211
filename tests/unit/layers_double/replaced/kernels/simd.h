// In place of lib/kernels/simd.h: the same eight lanes, of doubles and of integers as wide.
#pragma once

#include <cstdint>
#include <cstring>

namespace crema {

using Floats8 = double __attribute__((vector_size(64)));
using Ints8 = std::int64_t __attribute__((vector_size(64)));
using Doubles4 = double __attribute__((vector_size(32)));

inline void load(const double* from, Floats8& to) { std::memcpy(&to, from, sizeof to); }
inline void load(const double* from, Doubles4& to) { std::memcpy(&to, from, sizeof to); }
template <class Int>
void load(const Int* from, Ints8& to) {
  for (int lane = 0; lane < 8; ++lane) to[lane] = from[lane];
}

inline void store(const Floats8& from, double* to) { std::memcpy(to, &from, sizeof from); }
template <class Int>
void store(const Ints8& from, Int* to) {
  for (int lane = 0; lane < 8; ++lane) to[lane] = static_cast<Int>(from[lane]);
}

}  // namespace crema
