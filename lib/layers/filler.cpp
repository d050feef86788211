// Fillers in blocks of four values, which is what the generator gives for one counter: a block is
// computed by itself, so that threads may share them out as they like.
#include "layers/filler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "kernels/blas.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace {

const std::vector<std::string>& filler_types() {
  static const std::vector<std::string> types = {
      "bilinear", "constant", "gaussian", "msra", "positive_unitball", "uniform", "xavier"};
  return types;
}

/// Elements 2^42 and up of a step are the coins of sparse filling: past every real element.
constexpr std::uint64_t kCoins = std::uint64_t{1} << 40;

double fan(const caffe::FillerParameter& filler, const Shape& shape) {
  const double count = static_cast<double>(shape.count());
  const double in = shape.axes() > 0 ? count / static_cast<double>(shape[0]) : count;
  const double out = shape.axes() > 1 ? count / static_cast<double>(shape[1]) : count;
  switch (filler.variance_norm()) {
    case caffe::FillerParameter::FAN_OUT:
      return out;
    case caffe::FillerParameter::AVERAGE:
      return (in + out) / 2;
    default:
      return in;
  }
}

/// function(Philox4, block, four values) for every block of (up to) four values.
template <class Function>
void for_each_block(const Device& device, std::int64_t count, const RandomStream& stream,
                    std::uint64_t step, float* values, const Function& function) {
  constexpr std::int64_t kCost = 32;  // of a block: ten rounds of multiplications, or logarithms
  parallel_ranges(device, (count + 3) / 4, kCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto counter = static_cast<std::uint64_t>(block);
      float four[4];
      function(stream.block(step, counter), counter, four);
      const std::int64_t first = 4 * block;
      std::copy_n(four, std::min<std::int64_t>(4, count - first), values + first);
    }
  });
}

void fill_uniform(const Device& device, float low, float high, std::int64_t count,
                  const RandomStream& stream, std::uint64_t step, float* values) {
  for_each_block(device, count, stream, step, values,
                 [=](const Philox4& random, std::uint64_t, float* four) {
                   for (int i = 0; i < 4; ++i) {
                     four[i] = low + (high - low) * philox_uniform(random.x[i]);
                   }
                 });
}

/// Two normal values from two random words (Box and Muller 1958). The radius takes all 32 bits and
/// is never that of 0.
void normal_pair(std::uint32_t radius_bits, std::uint32_t angle_bits, float* pair) {
  const float u = (static_cast<float>(radius_bits) + 1.0f) * 0x1p-32f;
  const float radius = std::sqrt(-2.0f * std::log(std::min<float>(u, 1)));
  const float angle = 2 * std::numbers::pi_v<float> * philox_uniform(angle_bits);
  pair[0] = radius * std::cos(angle);
  pair[1] = radius * std::sin(angle);
}

void fill_gaussian(const Device& device, float mean, float deviation, double kept,
                   std::int64_t count, const RandomStream& stream, std::uint64_t step,
                   float* values) {
  for_each_block(device, count, stream, step, values,
                 [=](const Philox4& random, std::uint64_t block, float* four) {
                   normal_pair(random.x[0], random.x[1], four);
                   normal_pair(random.x[2], random.x[3], four + 2);
                   for (int i = 0; i < 4; ++i) four[i] = mean + deviation * four[i];
                   if (kept >= 1) return;
                   const Philox4 coins = stream.block(step, kCoins + block);
                   for (int i = 0; i < 4; ++i) {
                     if (philox_uniform(coins.x[i]) >= kept) four[i] = 0;
                   }
                 });
}

void divide_by_slice_sums(const Device& device, const Shape& shape, float* values) {
  const std::int64_t slices = shape.axes() > 0 ? shape[0] : 1;
  const std::int64_t size = shape.count() / std::max<std::int64_t>(slices, 1);
  parallel_ranges(device, slices, size, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slice = begin; slice < end; ++slice) {
      float* const first = values + slice * size;
      double sum = 0;
      for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(first[i]);
      for (std::int64_t i = 0; i < size; ++i) {
        first[i] = static_cast<float>(static_cast<double>(first[i]) / sum);
      }
    }
  });
}

void fill_bilinear(const Device& device, const Shape& shape, float* values) {
  const std::int64_t kernel = shape[3];
  const double factor = std::ceil(static_cast<double>(kernel) / 2);
  const double centre = static_cast<double>(kernel - 1) / (2 * factor);
  const auto weight = [=](std::int64_t position) {
    return 1 - std::abs(static_cast<double>(position) / factor - centre);
  };
  parallel_for(
      Cpu{}, device, shape.count(),
      [=](std::int64_t i) {
        values[i] = static_cast<float>(weight(i % kernel) * weight(i / kernel % kernel));
      },
      8);
}

}  // namespace

void check_filler(const caffe::FillerParameter& filler, const Shape& shape) {
  const std::string& type = filler.type();
  const auto& types = filler_types();
  if (!std::binary_search(types.begin(), types.end(), type)) {
    std::string hint = did_you_mean(type, types);
    if (hint.empty()) {
      hint = "; there are";
      for (const std::string& known : types) hint += (&known == &types[0] ? " " : ", ") + known;
    }
    fail("unknown filler type \"{}\"{}", type, hint);
  }
  require(filler.sparse() >= -1, "sparse {} must be at least 0 (or -1: not sparse)",
          filler.sparse());
  require(filler.sparse() < 0 || type == "gaussian",
          "sparse is for the gaussian filler, not for \"{}\"", type);
  if (type == "gaussian") {
    require(filler.std() > 0, "std {} of a gaussian filler must be greater than 0", filler.std());
    require(filler.sparse() <= (shape.axes() > 0 ? shape[0] : 1),
            "sparse {} is more than the first dimension of the parameter {}", filler.sparse(),
            shape.str());
  }
  if (type == "uniform") {
    require(filler.min() <= filler.max(), "min {} of a uniform filler is greater than max {}",
            filler.min(), filler.max());
  }
  if (type == "bilinear") {
    require(shape.axes() == 4 && shape[2] == shape[3],
            "a bilinear filler needs 4-D weights with a square kernel, not {}", shape.str());
  }
}

void fill(const Device& device, const caffe::FillerParameter& filler, const Shape& shape,
          const RandomStream& stream, float* values, std::uint64_t step) {
  const std::string& type = filler.type();
  const std::int64_t count = shape.count();
  if (count == 0) return;
  if (type == "constant") {
    fill(device, count, filler.value(), values);
  } else if (type == "uniform") {
    fill_uniform(device, filler.min(), filler.max(), count, stream, step, values);
  } else if (type == "gaussian") {
    const double kept = filler.sparse() < 0 || shape.axes() == 0
                            ? 1
                            : static_cast<double>(filler.sparse()) / static_cast<double>(shape[0]);
    fill_gaussian(device, filler.mean(), filler.std(), kept, count, stream, step, values);
  } else if (type == "positive_unitball") {
    fill_uniform(device, 0, 1, count, stream, step, values);
    divide_by_slice_sums(device, shape, values);
  } else if (type == "xavier") {
    const auto a = static_cast<float>(std::sqrt(3 / fan(filler, shape)));
    fill_uniform(device, -a, a, count, stream, step, values);
  } else if (type == "msra") {
    const auto deviation = static_cast<float>(std::sqrt(2 / fan(filler, shape)));
    fill_gaussian(device, 0, deviation, 1, count, stream, step, values);
  } else {
    CREMA_ASSERT(type == "bilinear");
    fill_bilinear(device, shape, values);
  }
}

}  // namespace crema
