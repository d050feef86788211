#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace crema {
namespace {

using Names = std::vector<std::string>;

TEST(SplitTest, DropsEmptyParts) {
  EXPECT_EQ(split("a,b,c", ','), (Names{"a", "b", "c"}));
  EXPECT_EQ(split(",a,,b,", ','), (Names{"a", "b"}));
  EXPECT_EQ(split("a b", ','), (Names{"a b"}));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_TRUE(split(",,", ',').empty());
}

TEST(NearestNameTest, FindsSlips) {
  const Names names = {"conv1", "pool1", "norm_1"};
  EXPECT_EQ(nearest_name("cnov1", names), "conv1");  // two swapped letters are one slip
  EXPECT_EQ(nearest_name("con1", names), "conv1");
  EXPECT_EQ(nearest_name("pool2", names), "pool1");
  EXPECT_EQ(nearest_name("norm1", names), "norm_1");
}

TEST(NearestNameTest, CaseAndDashesCostNothing) {
  EXPECT_EQ(nearest_name("INPUT-SHAPE", {"input_shape", "input_dim"}), "input_shape");
}

TEST(NearestNameTest, GivesNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("label", {"data", "conv1"}), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name("x", {"y"}), "");  // of one letter nothing would be left
  EXPECT_EQ(nearest_name("x", {"y", "X"}), "X");
  EXPECT_EQ(did_you_mean("label", {"data"}), "");
}

TEST(NearestNameTest, BecomesASentence) {
  EXPECT_EQ(did_you_mean("dta", {"data"}), "; did you mean \"data\"?");
}

TEST(WithThousandsTest, GroupsDigits) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(-999), "-999");
  EXPECT_EQ(with_thousands(-123456), "-123,456");
  EXPECT_EQ(with_thousands(std::numeric_limits<long long>::min()), "-9,223,372,036,854,775,808");
}

TEST(CountedTest, KnowsTheSingular) {
  EXPECT_EQ(counted(0, "layer"), "0 layers");
  EXPECT_EQ(counted(1, "layer"), "1 layer");
  EXPECT_EQ(counted(1234, "record"), "1,234 records");
}

TEST(PrintableTest, IsOneLineWithoutControlCharacters) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\nb\\x1b[31m\\x7f");
  EXPECT_EQ(printable("Straße 数据"), "Straße 数据");
}

TEST(HumanBytesTest, KeepsThreeDigits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1 KB");
  EXPECT_EQ(human_bytes(12345678), "12.3 MB");
  EXPECT_EQ(human_bytes(2.5e9), "2.5 GB");
}

TEST(HumanBytesTest, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(human_bytes(999.6e3), "1 MB");
  EXPECT_EQ(human_bytes(999.6e6), "1 GB");
  EXPECT_EQ(human_bytes(999.4e6), "999 MB");
}

}  // namespace
}  // namespace crema
