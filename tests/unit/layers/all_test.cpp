#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "op_harness.h"

namespace crema::test {
namespace {

TEST(LayerTable, IsSortedAndComplete) {
  const auto& types = layer_types();
  EXPECT_TRUE(std::is_sorted(types.begin(), types.end(), [](const auto& a, const auto& b) {
    return std::string(a.type) < b.type;
  }));
  const auto* message = caffe::LayerParameter::descriptor();
  for (const LayerType& row : types) {
    EXPECT_EQ(&layer_type(row.type), &row);
    EXPECT_LE(row.min_bottoms, row.max_bottoms) << row.type;
    EXPECT_LE(row.min_tops, row.max_tops) << row.type;
    EXPECT_EQ(std::string(row.summary).back(), '.') << row.type;
    for (const std::string& name : split(row.parameters, ' ')) {
      EXPECT_NE(message->FindFieldByName(name), nullptr) << row.type;
    }
  }
}

TEST(LayerTable, RefusesUnknownTypes) {
  EXPECT_EQ(error_of([] { layer_type("Convolutoin"); }),
            "unknown layer type \"Convolutoin\"; did you mean \"Convolution\"?");
  EXPECT_EQ(error_of([] { layer_type("relu"); }),
            "unknown layer type \"relu\"; did you mean \"ReLU\"?");
  EXPECT_EQ(error_of([] { layer_type("NoSuchLayer"); }), "unknown layer type \"NoSuchLayer\"");
  EXPECT_EQ(error_of([] { layer_type(""); }), "the layer has no type");
}

TEST(LayerTable, HoldsAllTypesOfCaffeButPython) {
  // And three that forks have for SSD: DetectionOutput, Permute and PriorBox.
  EXPECT_EQ(layer_types().size(), 60U + 3);
  EXPECT_THAT(error_of([] { layer_type("Python"); }), testing::HasSubstr("Python code"));
}

}  // namespace
}  // namespace crema::test
