// The loops behind channel_ops.h for every device. Compiled twice (kernels/device_tags.h).
//
// Moments come from sums in double of x and x^2: the squares of floats are exact there, so that
// this loses nothing against a second pass unless the mean is 10^6 deviations, where floats
// themselves hold no more of x.
#include "primitives/channel_ops.h"

#include "kernels/channel_sums.h"
#include "kernels/loop_registry.h"

namespace crema {
namespace loops {

struct SumOne {
  static constexpr const char* kName = "channel_sums.one";
  static constexpr int kSums = 1;
  template <int kSum, class D>
  CREMA_FUNCTOR static void add(const D& a, const D&, D& sum) {
    sum += a;
  }
};

struct SumProducts {
  static constexpr const char* kName = "channel_sums.products";
  static constexpr int kSums = 1;
  template <int kSum, class D>
  CREMA_FUNCTOR static void add(const D& a, const D& b, D& sum) {
    sum += a * b;
  }
};

struct SumAndProducts {
  static constexpr const char* kName = "channel_sums.one_and_products";
  static constexpr int kSums = 2;
  template <int kSum, class D>
  CREMA_FUNCTOR static void add(const D& a, const D& b, D& sum) {
    if constexpr (kSum == 0) {
      sum += a;
    } else {
      sum += a * b;
    }
  }
};

CREMA_CHANNEL_SUMS(SumOne)
CREMA_CHANNEL_SUMS(SumProducts)
CREMA_CHANNEL_SUMS(SumAndProducts)

template <class Tag, bool kShift, bool kGamma, bool kBeta>
void affine(const Device& device, const ChannelAxis& axis, const ChannelAffine& map, const float* x,
            float* y) {
  const float* const shift = map.shift;
  const float* const gamma = map.gamma;
  const float* const beta = map.beta;
  for_each_in_channels(
      Tag{}, device, axis,
      [=] CREMA_LOOP_BODY(std::int64_t i, std::int64_t c) {
        const float centered = kShift ? x[i] - shift[c] : x[i];
        const float scaled = kGamma ? centered * gamma[c] : centered;
        y[i] = kBeta ? scaled + beta[c] : scaled;
      },
      2);
}

template <class Tag, bool kShift, bool kGamma>
void affine_by_beta(const Device& device, const ChannelAxis& axis, const ChannelAffine& map,
                    const float* x, float* y) {
  if (map.beta != nullptr) {
    affine<Tag, kShift, kGamma, true>(device, axis, map, x, y);
  } else {
    affine<Tag, kShift, kGamma, false>(device, axis, map, x, y);
  }
}

template <class Tag>
void channel_affine(const Device& device, ChannelAxis axis, ChannelAffine map, const float* x,
                    float* y) {
  if (map.shift != nullptr && map.gamma != nullptr) {
    affine_by_beta<Tag, true, true>(device, axis, map, x, y);
  } else if (map.shift != nullptr) {
    affine_by_beta<Tag, true, false>(device, axis, map, x, y);
  } else if (map.gamma != nullptr) {
    affine_by_beta<Tag, false, true>(device, axis, map, x, y);
  } else {
    affine_by_beta<Tag, false, false>(device, axis, map, x, y);
  }
}

template <class Tag>
void store_sums(const Device& device, std::int64_t n, const double* sums, bool accumulate,
                float* to) {
  parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) {
    const auto sum = static_cast<float>(sums[i]);
    to[i] = accumulate ? to[i] + sum : sum;
  });
}

template <class Tag>
void moments_of_sums(const Device& device, ChannelAxis axis, const double* sums, float* mean,
                     float* variance) {
  const std::int64_t channels = axis.channels;
  const auto count = static_cast<double>(axis.outer * axis.inner);
  parallel_for(Tag{}, device, channels, [=] CREMA_LOOP_BODY(std::int64_t c) {
    const double middle = sums[c] / count;
    mean[c] = static_cast<float>(middle);
    if (variance == nullptr) return;
    const double squares = sums[channels + c] / count - middle * middle;
    variance[c] = static_cast<float>(squares < 0 ? 0.0 : squares);
  });
}

template <class Tag>
void means_of_sums(const Device& device, std::int64_t n, const double* sums, std::int64_t count,
                   float* means) {
  parallel_for(Tag{}, device, n, [=] CREMA_LOOP_BODY(std::int64_t i) {
    means[i] = static_cast<float>(sums[i] / static_cast<double>(count));
  });
}

/// `means` holds those of dy, then those of dy * y.
template <class Tag>
void normalized_gradient(const Device& device, ChannelAxis axis, const float* y, const float* dy,
                         const float* means, const float* inverse, float* dx) {
  const float* const product_means = means + axis.channels;
  for_each_in_channels(
      Tag{}, device, axis,
      [=] CREMA_LOOP_BODY(std::int64_t i, std::int64_t c) {
        dx[i] = (dy[i] - means[c] - y[i] * product_means[c]) * inverse[c];
      },
      4);
}

CREMA_CUDA_LOOP("channel.affine", &channel_affine<Cuda>)
CREMA_CUDA_LOOP("channel.store_sums", &store_sums<Cuda>)
CREMA_CUDA_LOOP("channel.moments", &moments_of_sums<Cuda>)
CREMA_CUDA_LOOP("channel.means", &means_of_sums<Cuda>)
CREMA_CUDA_LOOP("channel.normalized_gradient", &normalized_gradient<Cuda>)

}  // namespace loops

#ifndef __CUDACC__

namespace {

/// Where floats by channel lie behind the sums.
float* floats_of(const ChannelAxis& axis, void* scratch) {
  return reinterpret_cast<float*>(static_cast<char*>(scratch) + channel_sums_bytes(axis, 2));
}

/// Means of dy, and of dy * y if there is a y.
const float* gradient_means(Device& device, const ChannelAxis& axis, const float* y,
                            const float* dy, void* scratch) {
  const double* const sums =
      y == nullptr ? channel_sums<loops::SumOne>(device, axis, dy, dy, scratch)
                   : channel_sums<loops::SumAndProducts>(device, axis, dy, y, scratch);
  float* const means = floats_of(axis, scratch);
  const std::int64_t n = y == nullptr ? axis.channels : 2 * axis.channels;
  run_loop(device, "channel.means", &loops::means_of_sums<Cpu>, n, sums, axis.outer * axis.inner,
           means);
  return means;
}

}  // namespace

std::size_t channel_scratch_bytes(const ChannelAxis& axis) {
  return channel_sums_bytes(axis, 2) + 2 * static_cast<std::size_t>(axis.channels) * sizeof(float);
}

void channel_affine(Device& device, const ChannelAxis& axis, const ChannelAffine& map,
                    const float* x, float* y) {
  run_loop(device, "channel.affine", &loops::channel_affine<Cpu>, axis, map, x, y);
}

void store_channel_sums(Device& device, std::int64_t channels, const double* sums, bool accumulate,
                        float* to) {
  run_loop(device, "channel.store_sums", &loops::store_sums<Cpu>, channels, sums, accumulate, to);
}

void channel_affine_gradients(Device& device, const ChannelAxis& axis, const float* x,
                              const float* dy, const AffineGradients& to, void* scratch) {
  const auto store = [&](const double* sums, bool accumulate, float* gradient) {
    store_channel_sums(device, axis.channels, sums, accumulate, gradient);
  };
  if (to.gamma != nullptr && to.beta != nullptr) {
    const double* const sums = channel_sums<loops::SumAndProducts>(device, axis, dy, x, scratch);
    store(sums, to.beta_accumulates, to.beta);
    store(sums + axis.channels, to.gamma_accumulates, to.gamma);
  } else if (to.gamma != nullptr) {
    store(channel_sums<loops::SumProducts>(device, axis, dy, x, scratch), to.gamma_accumulates,
          to.gamma);
  } else if (to.beta != nullptr) {
    store(channel_sums<loops::SumOne>(device, axis, dy, dy, scratch), to.beta_accumulates, to.beta);
  }
}

void channel_moments(Device& device, const ChannelAxis& axis, const float* x, float* mean,
                     float* variance, void* scratch) {
  const double* const sums = variance == nullptr
                                 ? channel_sums<loops::SumOne>(device, axis, x, x, scratch)
                                 : channel_sums<loops::SumAndProducts>(device, axis, x, x, scratch);
  run_loop(device, "channel.moments", &loops::moments_of_sums<Cpu>, axis, sums, mean, variance);
}

void normalized_gradient(Device& device, const ChannelAxis& axis, const float* y, const float* dy,
                         const float* inverse, float* dx, void* scratch) {
  const float* const means = gradient_means(device, axis, y, dy, scratch);
  run_loop(device, "channel.normalized_gradient", &loops::normalized_gradient<Cpu>, axis, y, dy,
           means, inverse, dx);
}

void centered_gradient(Device& device, const ChannelAxis& axis, const float* dy, float* dx,
                       void* scratch) {
  ChannelAffine map;
  map.shift = gradient_means(device, axis, nullptr, dy, scratch);
  channel_affine(device, axis, map, dy, dx);
}

#endif

}  // namespace crema
