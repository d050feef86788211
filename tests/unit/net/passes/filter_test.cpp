#include <gtest/gtest.h>

#include "../support.h"

namespace crema {
namespace {

using namespace testing;

/// Whether a layer with these rules stays.
bool stays(const std::string& rules, const caffe::NetState& state) {
  const std::string text = "layer { name: \"a\" type: \"Silence\" " + rules + " }";
  return filter(net_of(text), state).net.layer_size() == 1;
}

TEST(FilterTest, LayersWithoutRulesStay) {
  EXPECT_TRUE(stays("", state_of(caffe::TRAIN)));
  EXPECT_TRUE(stays("", state_of(caffe::TEST, 7, {"deploy"})));
}

TEST(FilterTest, PhaseRules) {
  EXPECT_TRUE(stays("include { phase: TRAIN }", state_of(caffe::TRAIN)));
  EXPECT_FALSE(stays("include { phase: TRAIN }", state_of(caffe::TEST)));
  EXPECT_FALSE(stays("exclude { phase: TRAIN }", state_of(caffe::TRAIN)));
  EXPECT_TRUE(stays("exclude { phase: TRAIN }", state_of(caffe::TEST)));
}

TEST(FilterTest, LevelRulesIncludeTheirEnds) {
  const std::string rule = "include { min_level: 2 max_level: 4 }";
  for (int level = 0; level < 7; ++level) {
    EXPECT_EQ(stays(rule, state_of(caffe::TEST, level)), level >= 2 && level <= 4) << level;
  }
  EXPECT_FALSE(stays("include { min_level: 0 }", state_of(caffe::TEST, -1)));
}

TEST(FilterTest, EveryStageMustBeSet) {
  const std::string rule = "include { stage: \"a\" stage: \"b\" }";
  EXPECT_TRUE(stays(rule, state_of(caffe::TEST, 0, {"b", "c", "a"})));
  EXPECT_FALSE(stays(rule, state_of(caffe::TEST, 0, {"a"})));
}

TEST(FilterTest, NoNotStageMayBeSet) {
  const std::string rule = "include { not_stage: \"a\" not_stage: \"b\" }";
  EXPECT_TRUE(stays(rule, state_of(caffe::TEST, 0, {"c"})));
  EXPECT_FALSE(stays(rule, state_of(caffe::TEST, 0, {"c", "b"})));
}

TEST(FilterTest, ARuleIsMetWhenAllItStatesHolds) {
  const std::string rule = "include { phase: TEST stage: \"a\" }";
  EXPECT_TRUE(stays(rule, state_of(caffe::TEST, 0, {"a"})));
  EXPECT_FALSE(stays(rule, state_of(caffe::TRAIN, 0, {"a"})));
  EXPECT_FALSE(stays(rule, state_of(caffe::TEST)));
  EXPECT_TRUE(stays("include { }", state_of(caffe::TEST)));
  EXPECT_FALSE(stays("exclude { }", state_of(caffe::TEST)));
}

TEST(FilterTest, OneRuleOfSeveralIsEnough) {
  const std::string two = "include { stage: \"a\" } include { phase: TRAIN }";
  EXPECT_TRUE(stays(two, state_of(caffe::TRAIN)));
  EXPECT_TRUE(stays(two, state_of(caffe::TEST, 0, {"a"})));
  EXPECT_FALSE(stays(two, state_of(caffe::TEST)));
  EXPECT_FALSE(stays("exclude { stage: \"a\" } exclude { phase: TRAIN }", state_of(caffe::TRAIN)));
}

TEST(FilterTest, BothKindsOnOneLayerAreAnError) {
  EXPECT_EQ(error_of([] { stays("include { } exclude { }", state_of(caffe::TEST)); }),
            "net.prototxt:1: layer \"a\" (Silence): a layer has either include or exclude rules, "
            "not both");
}

TEST(FilterTest, LayersGetThePhaseUnlessTheyHaveOne) {
  const FilteredNet net = filtered(
      "layer { name: \"a\" type: \"Silence\" } layer { name: \"b\" type: \"Silence\" phase: TEST }",
      caffe::TRAIN);
  EXPECT_EQ(net.net.layer(0).phase(), caffe::TRAIN);
  EXPECT_EQ(net.net.layer(1).phase(), caffe::TEST);
}

TEST(FilterTest, RemovedTopsRememberWhy) {
  const auto reason = [](const std::string& rules) {
    const FilteredNet net =
        filtered("layer { name: \"a\" type: \"Input\" top: \"x\" " + rules + " }", caffe::TRAIN);
    return net.removed.at("x");
  };
  const std::string start = "layer \"a\", which makes it, is left out: ";
  EXPECT_EQ(reason("include { phase: TEST }"), start + "phase is TRAIN, not TEST");
  EXPECT_EQ(reason("include { min_level: 3 }"), start + "level 0 is below min_level 3");
  EXPECT_EQ(reason("include { max_level: -1 }"), start + "level 0 is above max_level -1");
  EXPECT_EQ(reason("include { stage: \"s\" }"), start + "stage \"s\" is not set");
  EXPECT_EQ(reason("exclude { phase: TRAIN }"), start + "an exclude rule is met");
}

TEST(FilterTest, AllElseOfTheNetStays) {
  const FilteredNet net = filtered("name: \"n\" force_backward: true");
  EXPECT_EQ(net.net.name(), "n");
  EXPECT_TRUE(net.net.force_backward());
}

}  // namespace
}  // namespace crema
