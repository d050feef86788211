#include "formula.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace crema::conformance {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;

std::uint64_t splitmix64(std::uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// offset + a value in [-a, a), as element i of the array with this seed.
struct Formula {
  std::uint64_t seed;
  float a;
  double offset = 0;

  float operator()(std::uint64_t i) const {
    const std::uint64_t bits = splitmix64(seed * kGolden + i) >> 40;
    const double unit = static_cast<double>(bits) / (1 << 24) * 2 - 1;
    return static_cast<float>(offset + unit * static_cast<double>(a));
  }
};

template <class Element>
std::vector<float> fill(const Shape& shape, Element element) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(i);
  return values;
}

}  // namespace

std::vector<float> param_values(const std::string& rule, std::uint64_t seed, const Shape& shape) {
  if (rule == "weight") {
    const auto fan_in = static_cast<double>(shape.count_from(1));
    return fill(shape, Formula{seed, static_cast<float>(std::sqrt(3.0 / fan_in))});
  }
  if (rule == "bias" || rule == "bn_mean") return fill(shape, Formula{seed, 0.1f});
  if (rule == "gamma" || rule == "bn_var") return fill(shape, Formula{seed, 0.1f, 1});
  require(rule == "one", "the parameter rule \"{}\" is not known", rule);
  return fill(shape, [](std::size_t) { return 1.0f; });
}

std::vector<float> input_values(const std::string& rule, std::uint64_t seed, const Shape& shape) {
  const std::vector<std::string> words = split(rule, ' ');
  if (words.size() == 2 && words[0] == "signal") {
    return fill(shape, Formula{seed, std::stof(words[1])});
  }
  if (words.size() == 2 && words[0] == "labels") {
    const std::size_t classes = std::stoul(words[1]);
    return fill(shape, [=](std::size_t i) { return static_cast<float>(i % classes); });
  }
  require(rule == "cont", "the input rule \"{}\" is not known", rule);
  const auto first_step = static_cast<std::size_t>(shape.count_from(1));
  return fill(shape, [=](std::size_t i) { return i < first_step ? 0.0f : 1.0f; });
}

}  // namespace crema::conformance
