// Eight floats at a time, for the loops that the compiler does not vectorise by itself. Plain
// compiler vectors: they become whatever the -march of the build has.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace crema {

using Floats8 = float __attribute__((vector_size(32)));
using Ints8 = std::int32_t __attribute__((vector_size(32)));
using Doubles4 = double __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void load(const float* from, Floats8& to) {
  std::memcpy(&to, from, sizeof to);
}
[[gnu::always_inline]] inline void load(const std::int32_t* from, Ints8& to) {
  std::memcpy(&to, from, sizeof to);
}
[[gnu::always_inline]] inline void load(const std::uint8_t* from, Ints8& to) {
#ifdef __AVX2__  // g++ 12 takes __builtin_convertvector of bytes apart, one by one
  to = reinterpret_cast<Ints8>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  for (int lane = 0; lane < 8; ++lane) to[lane] = from[lane];
#endif
}

/// Four floats.
[[gnu::always_inline]] inline void load(const float* from, Doubles4& to) {
#ifdef __AVX2__  // g++ 12 converts two at a time
  to = _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
  for (int lane = 0; lane < 4; ++lane) to[lane] = from[lane];
#endif
}

[[gnu::always_inline]] inline void store(const Floats8& from, float* to) {
  std::memcpy(to, &from, sizeof from);
}
[[gnu::always_inline]] inline void store(const Ints8& from, std::int32_t* to) {
  std::memcpy(to, &from, sizeof from);
}
/// The low byte of each.
[[gnu::always_inline]] inline void store(const Ints8& from, std::uint8_t* to) {
#ifdef __AVX2__
  const auto low_bytes = reinterpret_cast<__m256i>(from & 255);
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(low_bytes), _mm256_extracti128_si256(low_bytes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
#else
  for (int lane = 0; lane < 8; ++lane) to[lane] = static_cast<std::uint8_t>(from[lane]);
#endif
}

}  // namespace crema
