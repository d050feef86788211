// Local response normalisation on the CPU. Both layouts work on a tile: a run of channels, with the
// neighbours that its windows reach, times a run of positions that lie side by side in memory
// (plain), or one position (channels-last). All inner loops run over memory that lies side by side.
#include "primitives/lrn.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

constexpr std::int64_t kTile = 256;    ///< channels (channels-last) or positions (plain) of a tile
constexpr std::int64_t kMaxHalf = 16;  ///< wider windows take the loop version
constexpr std::int64_t kPlainTile = 256;

/// s^-beta for the exponents that nets use, with square roots, which vectorise; pow() else.
struct ThreeQuarters {
  float operator()(float s) const { return 1.0f / (std::sqrt(s) * std::sqrt(std::sqrt(s))); }
};
struct Half {
  float operator()(float s) const { return 1.0f / std::sqrt(s); }
};
struct AnyPower {
  float beta;
  float operator()(float s) const { return std::pow(s, -beta); }
};

template <class Body>
void with_power(float beta, const Body& body) {
  if (beta == 0.75f) {
    body(ThreeQuarters{});
  } else if (beta == 0.5f) {
    body(Half{});
  } else {
    body(AnyPower{beta});
  }
}

/// Calls body with the window's size as a constant for the usual one.
template <class Body>
void with_size(std::int64_t size, const Body& body) {
  if (size == 5) {
    body(std::integral_constant<std::int64_t, 5>{});
  } else if (size == 3) {
    body(std::integral_constant<std::int64_t, 3>{});
  } else {
    body(size);
  }
}

/// sums[i] = offset + factor * (from[i] + ... + from[i + size - 1]).
template <class Size>
void window_sums(const float* from, std::int64_t count, Size size, float offset, float factor,
                 float* sums) {
  if constexpr (!std::is_same_v<Size, std::int64_t>) {
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = from[i];
      for (std::int64_t j = 1; j < size; ++j) sum += from[i + j];
      sums[i] = offset + factor * sum;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) sums[i] = from[i];
    for (std::int64_t j = 1; j < size; ++j) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i + j];
    }
    for (std::int64_t i = 0; i < count; ++i) sums[i] = offset + factor * sums[i];
  }
}

struct Terms {
  explicit Terms(const LrnShape& shape)
      : channels(shape.channels),
        spatial(shape.spatial),
        size(shape.size),
        before((shape.size - 1) / 2),
        after(shape.size - 1 - before),
        k(shape.k),
        factor(shape.alpha / static_cast<float>(shape.size)),
        beta(shape.beta) {}

  std::int64_t channels, spatial, size, before, after;
  float k, factor, beta;
};

/// f(c) for c in [first, last), 0 outside [0, channels).
template <class F>
void fill_padded(std::int64_t first, std::int64_t last, std::int64_t channels, float* to,
                 const F& f) {
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, channels);
  const std::int64_t end = std::clamp<std::int64_t>(last, begin, channels);
  std::int64_t c = first;
  for (; c < begin; ++c) to[c - first] = 0;
  for (; c < end; ++c) to[c - first] = f(c);
  for (; c < last; ++c) to[c - first] = 0;
}

// --- channels-last: one row of channels ---------------------------------------------------------

template <class Size, class Power>
void forward_row(const Terms& t, Size size, Power power, const float* x, float* y) {
  float squares[kTile + 2 * kMaxHalf];
  float sums[kTile];
  for (std::int64_t first = 0; first < t.channels; first += kTile) {
    const std::int64_t count = std::min(kTile, t.channels - first);
    fill_padded(first - t.before, first + count + t.after, t.channels, squares,
                [x](std::int64_t c) { return x[c] * x[c]; });
    window_sums(squares, count, size, t.k, t.factor, sums);
    for (std::int64_t i = 0; i < count; ++i) y[first + i] = x[first + i] * power(sums[i]);
  }
}

template <class Size, class Power>
void backward_row(const Terms& t, Size size, Power power, const float* x, const float* dy,
                  float* dx) {
  float squares[kTile + 4 * kMaxHalf];
  float sums[kTile + 2 * kMaxHalf];
  float powers[kTile + 2 * kMaxHalf];
  float ratios[kTile + 2 * kMaxHalf];
  const float slope = 2 * t.factor * t.beta;
  for (std::int64_t first = 0; first < t.channels; first += kTile) {
    const std::int64_t count = std::min(kTile, t.channels - first);
    // The windows that hold channel c are centred on c - after .. c + before.
    const std::int64_t wide_first = first - t.after;
    const std::int64_t wide = count + t.before + t.after;
    fill_padded(wide_first - t.before, wide_first + wide + t.after, t.channels, squares,
                [x](std::int64_t c) { return x[c] * x[c]; });
    window_sums(squares, wide, size, t.k, t.factor, sums);
    for (std::int64_t i = 0; i < wide; ++i) powers[i] = power(sums[i]);
    fill_padded(wide_first, wide_first + wide, t.channels, ratios,
                [=, &powers, &sums](std::int64_t c) {
                  return dy[c] * x[c] * powers[c - wide_first] / sums[c - wide_first];
                });
    window_sums(ratios, count, size, 0.0f, slope, sums);
    const float* const own = powers + t.after;
    for (std::int64_t i = 0; i < count; ++i) {
      dx[first + i] = dy[first + i] * own[i] - x[first + i] * sums[i];
    }
  }
}

// --- plain: a strip of positions through all channels -------------------------------------------

/// sums = k + factor * window of squares of channel c, for `count` positions; x at channel 0.
inline void strip_sums(const Terms& t, const float* x, std::int64_t c, std::int64_t count,
                       float* sums) {
  const std::int64_t first = std::max<std::int64_t>(c - t.before, 0);
  const std::int64_t last = std::min(c + t.after + 1, t.channels);
  for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
  for (std::int64_t j = first; j < last; ++j) {
    const float* const from = x + j * t.spatial;
    for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i] * from[i];
  }
  for (std::int64_t i = 0; i < count; ++i) sums[i] = t.k + t.factor * sums[i];
}

template <class Power>
void forward_strip(const Terms& t, Power power, std::int64_t count, const float* x, float* y) {
  float sums[kPlainTile];
  for (std::int64_t c = 0; c < t.channels; ++c) {
    strip_sums(t, x, c, count, sums);
    const float* const from = x + c * t.spatial;
    float* const to = y + c * t.spatial;
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * power(sums[i]);
  }
}

template <class Power>
void backward_strip(const Terms& t, Power power, std::int64_t count, const float* x,
                    const float* dy, float* dx) {
  // A ring of the channels whose ratios are still wanted.
  constexpr std::int64_t kRing = 2 * kMaxHalf + 1;
  float powers[kRing][kPlainTile];
  float ratios[kRing][kPlainTile];
  float sums[kPlainTile];
  const float slope = 2 * t.factor * t.beta;
  std::int64_t ready = 0;  // channels whose powers and ratios have been made
  for (std::int64_t c = 0; c < t.channels; ++c) {
    const std::int64_t first = std::max<std::int64_t>(c - t.after, 0);
    const std::int64_t last = std::min(c + t.before + 1, t.channels);
    for (; ready < last; ++ready) {
      strip_sums(t, x, ready, count, sums);
      const float* const from = x + ready * t.spatial;
      const float* const gradient = dy + ready * t.spatial;
      float* const p = powers[ready % kRing];
      float* const r = ratios[ready % kRing];
      for (std::int64_t i = 0; i < count; ++i) {
        p[i] = power(sums[i]);
        r[i] = gradient[i] * from[i] * p[i] / sums[i];
      }
    }
    for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
    for (std::int64_t j = first; j < last; ++j) {
      const float* const r = ratios[j % kRing];
      for (std::int64_t i = 0; i < count; ++i) sums[i] += r[i];
    }
    const float* const from = x + c * t.spatial;
    const float* const gradient = dy + c * t.spatial;
    const float* const p = powers[c % kRing];
    float* const to = dx + c * t.spatial;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = gradient[i] * p[i] - slope * from[i] * sums[i];
    }
  }
}

/// Calls body(offset of channel 0, positions) for strips of positions of all images.
template <class Body>
void for_each_strip(const Device& device, const LrnShape& shape, const Body& body) {
  const std::int64_t strips = (shape.spatial + kPlainTile - 1) / kPlainTile;
  const std::int64_t spatial = shape.spatial;
  const std::int64_t channels = shape.channels;
  parallel_ranges(device, shape.batch * strips, channels * kPlainTile,
                  [=](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const std::int64_t first = i % strips * kPlainTile;
                      body(i / strips * channels * spatial + first,
                           std::min(kPlainTile, spatial - first));
                    }
                  });
}

/// Channels-last, or the same memory: one position.
bool in_rows(const LrnShape& shape, const Tensor& bottom) {
  return is_channels_last(bottom.layout()) || shape.spatial == 1;
}

/// Rows of channels are plain images of one position.
LrnShape rows_as_images(LrnShape shape) {
  shape.batch *= shape.spatial;
  shape.spatial = 1;
  return shape;
}

}  // namespace

void lrn_forward(const LrnShape& shape, const Tensor& bottom, const Tensor& top) {
  CREMA_ASSERT(bottom.layout() == top.layout());
  const Device& device = bottom.device();
  const float* const x = bottom.read();
  float* const y = top.write();
  const Terms terms(shape);
  const bool rows = in_rows(shape, bottom);
  if (terms.after > kMaxHalf) {
    lrn_forward_loop(device, rows ? rows_as_images(shape) : shape, x, y);
    return;
  }
  with_power(shape.beta, [&](auto power) {
    if (!rows) {
      for_each_strip(device, shape, [=](std::int64_t at, std::int64_t count) {
        forward_strip(terms, power, count, x + at, y + at);
      });
      return;
    }
    with_size(shape.size, [&](auto size) {
      const std::int64_t channels = shape.channels;
      parallel_ranges(device, shape.batch * shape.spatial, channels,
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin; i < end; ++i) {
                          forward_row(terms, size, power, x + i * channels, y + i * channels);
                        }
                      });
    });
  });
}

void lrn_backward(const LrnShape& shape, const Tensor& bottom, const Tensor& top_gradient,
                  const Tensor& bottom_gradient) {
  CREMA_ASSERT(bottom.layout() == top_gradient.layout() &&
               bottom.layout() == bottom_gradient.layout());
  const Device& device = bottom.device();
  const float* const x = bottom.read();
  const float* const dy = top_gradient.read();
  float* const dx = bottom_gradient.write();
  const Terms terms(shape);
  const bool rows = in_rows(shape, bottom);
  if (terms.after > kMaxHalf) {
    lrn_backward_loop(device, rows ? rows_as_images(shape) : shape, x, dy, dx);
    return;
  }
  with_power(shape.beta, [&](auto power) {
    if (!rows) {
      for_each_strip(device, shape, [=](std::int64_t at, std::int64_t count) {
        backward_strip(terms, power, count, x + at, dy + at, dx + at);
      });
      return;
    }
    with_size(shape.size, [&](auto size) {
      const std::int64_t channels = shape.channels;
      parallel_ranges(device, shape.batch * shape.spatial, 2 * channels,
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin; i < end; ++i) {
                          backward_row(terms, size, power, x + i * channels, dy + i * channels,
                                       dx + i * channels);
                        }
                      });
    });
  });
}

}  // namespace crema
