// What the sweep over all layers (gradients_test.cpp) knows of each type: how to draw a layer, its
// bottoms and, where not any values do, its parameters. One function a family of layers gives the
// records of its types; a type may have several, and each is drawn several times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "op_harness.h"

namespace crema::test {

/// Draws what a record needs, the same for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : stream_(seed, stream_id("records")) {}

  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + stream_.below(0, element_++, static_cast<std::uint32_t>(high - low + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  double real(double low, double high) {
    return low + (high - low) * stream_.uniform(0, element_++);
  }
  std::string pick(const std::vector<std::string>& values) {
    return values[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  /// 1 to 4, or as many as fill vectors.
  std::int64_t channels() { return between(0, 3) == 0 ? between(8, 40) : between(1, 4); }
  /// Axes from 1 to `largest`; some have more channels, and less of all else.
  Shape shape(std::int64_t least_axes, std::int64_t most_axes, std::int64_t largest = 4);
  /// Different values, well apart (see spread()), none within a thousandth of the range of a kink.
  Blob values(const Shape& shape, double low = -1, double high = 1,
              const std::vector<double>& kinks = {});
  /// Whole numbers from 0 to n - 1.
  Blob integers(const Shape& shape, std::int64_t n);

 private:
  RandomStream stream_;
  std::uint64_t element_ = 0;
};

struct Draw {
  std::string fields;  ///< of the layer's definition, besides its name, type, bottoms and tops
  std::vector<Blob> bottoms;
  std::vector<Blob> params = {};  ///< spread from -1 to 1 if there are none here
  int tops = 1;
  int tops_with_gradient = kMany;   ///< those after that many get none
  std::vector<int> constants = {};  ///< parameters that by design have no gradient
};

struct Record {
  const char* type;
  const char* variant;  ///< "", or what tells it from others of its type
  std::function<Draw(Random&)> draw;
  /// Of the largest gradient; 0: the usual. Another one has its reason beside it.
  double tolerance = 0;
};

std::vector<Record> pointwise_records();
std::vector<Record> loss_records();
std::vector<Record> spatial_records();
std::vector<Record> normalization_records();
std::vector<Record> arrangement_records();
std::vector<Record> learned_records();
std::vector<Record> recurrent_records();

}  // namespace crema::test
