// All layers with a gradient, over drawn shapes and fields: the gradient is the derivative, by
// central differences in double precision, and the same in every layout, in place or not, and for
// any number of threads.
#include <algorithm>
#include <cmath>
#include <map>

#include "records.h"

namespace crema::test {
namespace {

constexpr std::uint64_t kDraws = 30;
constexpr double kStep = 1e-5;
/// Of the largest value of a gradient. What the step neglects and what rounding adds are below a
/// tenth of that.
constexpr double kTolerance = 1e-7;

/// Types without a gradient, and why.
const std::map<std::string, const char*> kNone = {
    {"Accuracy", "a count"},
    {"ArgMax", "positions"},
    {"Data", "no bottom"},
    {"DetectionOutput", "a choice of boxes"},
    {"DummyData", "no bottom"},
    {"HDF5Data", "no bottom"},
    {"HDF5Output", "no top"},
    {"ImageData", "no bottom"},
    {"Input", "no bottom"},
    {"MemoryData", "no bottom"},
    {"PriorBox", "depends on shapes alone"},
    {"Silence", "no top"},
    {"Threshold", "zero wherever there is one"},
    {"WindowData", "no bottom"},
};

std::vector<Record> all_records() {
  std::vector<Record> all;
  for (const auto& records :
       {pointwise_records(), loss_records(), spatial_records(), normalization_records(),
        arrangement_records(), learned_records(), recurrent_records()}) {
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

std::string definition(const Record& record, const Draw& draw) {
  std::string text = fmt::format("name: 'layer' type: '{}' ", record.type);
  for (std::size_t i = 0; i < draw.bottoms.size(); ++i) text += fmt::format("bottom: 'b{}' ", i);
  for (int i = 0; i < draw.tops; ++i) text += fmt::format("top: 't{}' ", i);
  return text + draw.fields;
}

/// Largest deviation, as a part of the largest expected value. Where that is tiny, as the gradient
/// of a mean brought to 0 is, it is rounding that differs.
double deviation(const Blob& actual, const Blob& expected) {
  EXPECT_EQ(actual.shape, expected.shape);
  double largest = 1e-3, apart = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    largest = std::max(largest, std::abs(expected.values[i]));
    const double difference = std::abs(actual.values[i] - expected.values[i]);
    apart = difference <= apart ? apart : difference;  // NaN stays
  }
  return apart / largest;
}

/// Of all gradients from finite differences, by the sum of all that is wanted.
double largest_deviation(const Layer& layer, const Draw& draw, const std::vector<Blob>& params,
                         const std::vector<Blob>& gradients) {
  const Result result = run(layer, draw.bottoms, params, gradients);
  double worst = 0;
  const auto compare = [&](const Blob& gradient, bool by_param, std::size_t i) {
    const Blob expected = differences(layer, draw.bottoms, params, gradients, by_param, i, kStep);
    const double apart = deviation(gradient, expected);
    if (!(apart <= worst)) worst = apart;
  };
  for (std::size_t i = 0; i < draw.bottoms.size(); ++i) {
    if (layer.differentiable(static_cast<int>(i))) compare(result.bottom_gradients[i], false, i);
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (std::count(draw.constants.begin(), draw.constants.end(), static_cast<int>(i)) == 0) {
      compare(result.param_gradients[i], true, i);
    }
  }
  return worst;
}

class Gradients : public testing::TestWithParam<Record> {};

TEST_P(Gradients, AreDerivatives) {
  const Record& record = GetParam();
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    Random random(seed);
    const Draw draw = record.draw(random);
    const std::string text = definition(record, draw);
    std::string shapes;
    for (const Blob& bottom : draw.bottoms) shapes += " " + bottom.shape.str();
    SCOPED_TRACE(text + ", bottoms" + shapes);
    const auto layer = make(text);
    const std::vector<Blob> params =
        draw.params.empty() ? spread_params(*layer, draw.bottoms) : draw.params;
    // Not spread evenly around 0: their sums would be 0, and gradients with them.
    std::vector<Blob> gradients = spread_gradients(*layer, draw.bottoms);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = random.values(gradients[i].shape, -1, 1.5);
      if (static_cast<int>(i) >= draw.tops_with_gradient) gradients[i].values.clear();
    }
    check_forms(*layer, draw.bottoms, params, gradients, 1e-12);
    const double apart = largest_deviation(*layer, draw, params, gradients);
    EXPECT_LE(apart, record.tolerance > 0 ? record.tolerance : kTolerance);
    worst = std::max(worst, apart);
  }
  RecordProperty("largest_deviation", fmt::format("{:.1e}", worst));
}

std::string test_name(const testing::TestParamInfo<Record>& info) {
  const std::string type = info.param.type, variant = info.param.variant;
  return variant.empty() ? type : type + "_" + variant;
}

INSTANTIATE_TEST_SUITE_P(Sweep, Gradients, testing::ValuesIn(all_records()), test_name);

TEST(Records, EachTypeHasOneOrNoGradient) {
  std::map<std::string, int> records;
  for (const Record& record : all_records()) ++records[record.type];
  for (const LayerType& row : layer_types()) {
    EXPECT_NE(records.count(row.type), kNone.count(row.type))
        << row.type << " needs a record (records.h), or a reason in kNone";
  }
  for (const auto& [type, count] : records) EXPECT_EQ(layer_type(type).type, type);
}

// Caffe's gradient divides by d + 1e-4 here, not by d. At a distance of about 1 that is one part in
// ten thousand, which no test in float precision could find.
TEST(Differences, FindSmallErrors) {
  const auto layer = make(
      "type: 'ContrastiveLoss' bottom: 'a' bottom: 'b' bottom: 'y' top: 'l' "
      "contrastive_loss_param { margin: 3 }");
  const Draw draw{"", {blob({1, 2}, {0.6f, 0}), blob({1, 2}, {0, 0.8f}), blob({1}, {0})}};
  EXPECT_NEAR(largest_deviation(*layer, draw, {}, {blob({}, {1})}), 1e-4, 1e-7);
}

}  // namespace
}  // namespace crema::test
