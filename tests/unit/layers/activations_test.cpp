// AbsVal, BNLL, Clip, ELU, Exp, Log, Power, Swish, Threshold. Those of pointwise_test.cpp besides.
#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string layer(const std::string& type, const std::string& rest = "") {
  return "type: '" + type + "' bottom: 'x' top: 'y' " + rest;
}

/// Of a gradient of 1 everywhere.
Result of(const std::string& text, std::vector<float> x) {
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  std::vector<float> ones(x.size(), 1);
  return run(*make(text), {blob(shape, std::move(x))}, {}, {blob(shape, std::move(ones))});
}
const std::vector<float>& top(const Result& result) { return result.tops[0].values; }
const std::vector<float>& gradient(const Result& result) {
  return result.bottom_gradients[0].values;
}

/// Values, gradients, layouts, threads, in place; x in [low, high].
void check(const std::string& text, float low, float high) {
  check_layer(text, {spread({2, 3, 4, 5}, low, high)}, {}, 2e-3, 2e-3);
  check_layer(text, {spread({70000}, low, high)}, {}, 0);
  check_layer(text, {spread({0, 3})}, {}, 0);
  check_layer(text, {spread({}, low, high)}, {}, 2e-3);
  // NaN goes through.
  EXPECT_TRUE(std::isnan(top(of(text, {kNan}))[0])) << text;
}

TEST(AbsVal, Values) {
  const Result result = of(layer("AbsVal"), {-2, 0, 3, -kInf, kNan});
  EXPECT_THAT(top(result), ElementsAre(2, 0, 3, kInf, testing::NanSensitiveFloatEq(kNan)));
  EXPECT_THAT(gradient(result), ElementsAre(-1, 0, 1, -1, testing::NanSensitiveFloatEq(kNan)));
  check(layer("AbsVal"), -2, 2);
}

TEST(AbsVal, RefusesToWorkInPlace) {
  EXPECT_EQ(error_of([] { make("type: 'AbsVal' bottom: 'x' top: 'x'"); }),
            "AbsVal cannot work in place: its top must have another name than its bottom \"x\"");
}

TEST(Bnll, Values) {
  const Result result = of(layer("BNLL"), {0, 1, -200, 200, -10, kInf, -kInf});
  EXPECT_THAT(top(result), ElementsAre(FloatEq(0.6931472f), FloatEq(1.3132617f), 0, 200,
                                       FloatEq(4.5398899e-5f), kInf, 0));
  EXPECT_THAT(gradient(result),
              ElementsAre(0.5f, FloatEq(0.7310586f), 0, 1, FloatEq(4.5397868e-5f), 1, 0));
  check(layer("BNLL"), -3, 3);
}

TEST(Clip, Values) {
  const Result result = of(layer("Clip", "clip_param { min: -1 max: 2 }"), {-5, -1, 0, 2, 3, kInf});
  EXPECT_THAT(top(result), ElementsAre(-1, -1, 0, 2, 2, 2));
  EXPECT_THAT(gradient(result), ElementsAre(0, 1, 1, 1, 0, 0));
  check(layer("Clip", "clip_param { min: -0.505 max: 0.755 }"), -2, 2);
  check(layer("Clip", "clip_param { min: 0.505 max: 0.505 }"), -2, 2);
  // In place would lose what is out of bounds.
  EXPECT_FALSE(make(layer("Clip", "clip_param { min: 0 max: 1 }"))->forward_in_place());
}

TEST(Clip, Errors) {
  EXPECT_EQ(error_of([] { make(layer("Clip", "clip_param { min: 2 max: 1 }")); }),
            "clip_param.min 2 is above clip_param.max 1");
  EXPECT_EQ(error_of([] { make(layer("Clip")); }),
            "clip_param.min is missing: both bounds must be given");
}

TEST(Elu, Values) {
  const Result plain = of(layer("ELU"), {-kInf, std::log(0.5f), 0, 3});
  EXPECT_THAT(top(plain), ElementsAre(-1, FloatEq(-0.5f), 0, 3));
  EXPECT_THAT(gradient(plain), ElementsAre(0, FloatEq(0.5f), 1, 1));
  const Result half = of(layer("ELU", "elu_param { alpha: 0.5 }"), {std::log(0.5f), 0, 2});
  EXPECT_THAT(top(half), ElementsAre(FloatEq(-0.25f), 0, 2));
  EXPECT_THAT(gradient(half), ElementsAre(FloatEq(0.25f), 0.5f, 1));
  for (const char* alpha : {"1", "0.3", "0", "-0.5", "2"}) {
    check(layer("ELU", std::string("elu_param { alpha: ") + alpha + " }"), -2, 2.5f);
  }
  EXPECT_TRUE(make(layer("ELU"))->forward_in_place());
  EXPECT_FALSE(make(layer("ELU", "elu_param { alpha: -1 }"))->forward_in_place());
}

TEST(Exp, Values) {
  const Result two = of(layer("Exp", "exp_param { base: 2 scale: 3 shift: 1 }"), {0, 1});
  EXPECT_THAT(top(two), ElementsAre(2, FloatEq(16)));
  const float log_base = std::log(2.0f);
  EXPECT_THAT(gradient(two), ElementsAre(FloatEq(6 * log_base), FloatEq(48 * log_base)));
  // Neither part may overflow where the whole doesn't.
  EXPECT_THAT(top(of(layer("Exp", "exp_param { shift: -100 }"), {100})), ElementsAre(1));
  for (const char* fields : {"", "base: 2", "base: 0.5 shift: 1", "scale: -0.7 shift: 0.5",
                             "base: 10 scale: 0.1", "scale: 0"}) {
    check(layer("Exp", std::string("exp_param { ") + fields + " }"), -2, 2);
  }
  EXPECT_EQ(error_of([] { make(layer("Exp", "exp_param { base: 0 }")); }),
            "exp_param.base is 0; it must be above 0, or -1 for e");
  EXPECT_EQ(error_of([] { make(layer("Exp", "exp_param { base: -2 }")); }),
            "exp_param.base is -2; it must be above 0, or -1 for e");
}

TEST(Log, Values) {
  const Result two = of(layer("Log", "log_param { base: 2 scale: 3 shift: 1 }"), {1, 5});
  EXPECT_THAT(top(two), ElementsAre(2, 4));
  const float log_base = std::log(2.0f);
  EXPECT_THAT(gradient(two), ElementsAre(FloatEq(0.75f / log_base), FloatEq(0.1875f / log_base)));
  EXPECT_THAT(top(of(layer("Log"), {0})), ElementsAre(-kInf));
  for (const char* fields : {"", "base: 2", "base: 0.5 shift: 1", "scale: 0.7 shift: 0.5"}) {
    check(layer("Log", std::string("log_param { ") + fields + " }"), 0.5f, 3);
  }
  for (const char* base : {"0", "1", "-2"}) {
    EXPECT_EQ(error_of([&] { make(layer("Log", fmt::format("log_param {{ base: {} }}", base))); }),
              fmt::format("log_param.base is {}; it must be above 0 and not 1, or -1 for e", base));
  }
}

std::string power(const std::string& fields) {
  return layer("Power", "power_param { " + fields + " }");
}

TEST(Power, Values) {
  const Result cube = of(power("power: 3 scale: 2 shift: -2"), {1, 2, 0});
  EXPECT_THAT(top(cube), ElementsAre(0, 8, -8));
  EXPECT_THAT(gradient(cube), ElementsAre(0, 24, 24));
  const Result square = of(power("power: 2 scale: 2 shift: -2"), {1, 2, 0});
  EXPECT_THAT(top(square), ElementsAre(0, 4, 4));
  EXPECT_THAT(gradient(square), ElementsAre(0, 8, -8));
  const Result root = of(power("power: 0.5"), {4, 0, -1});
  EXPECT_THAT(top(root), ElementsAre(2, 0, testing::NanSensitiveFloatEq(kNan)));
  EXPECT_THAT(gradient(root), ElementsAre(0.25f, kInf, testing::NanSensitiveFloatEq(kNan)));
  const Result line = of(power("scale: 2 shift: 1"), {1, -0.5f});
  EXPECT_THAT(top(line), ElementsAre(3, 0));
  EXPECT_THAT(gradient(line), ElementsAre(2, 2));
}

TEST(Power, ConstantWhereScaleOrPowerIsZero) {
  for (const char* fields : {"power: 0", "power: 0 scale: 0", "power: 0 shift: 5"}) {
    EXPECT_THAT(top(of(power(fields), {-1, 0, kNan})), ElementsAre(1, 1, 1)) << fields;
    EXPECT_THAT(gradient(of(power(fields), {-1, 0, 7})), ElementsAre(0, 0, 0)) << fields;
  }
  EXPECT_THAT(top(of(power("power: 3 scale: 0 shift: 2"), {-1, 0})), ElementsAre(8, 8));
  check_layer(power("scale: 0 shift: 2"), {spread({2, 3, 4})}, {});
}

TEST(Power, Checks) {
  for (const char* fields : {"", "power: 2", "power: 3", "power: -1", "power: 0.5 scale: 2",
                             "power: 2.5 shift: 0.3", "scale: -1.5 shift: 2"}) {
    check(power(fields), 0.5f, 3);
  }
  check(power("power: 3 shift: 0.1"), -1, 1);
  EXPECT_TRUE(make(power("scale: 3"))->forward_in_place());
  EXPECT_FALSE(make(power("power: 2"))->forward_in_place());
}

TEST(Swish, Values) {
  const Result result = of(layer("Swish"), {0, 1, -1000, 1000});
  EXPECT_THAT(top(result), ElementsAre(0, FloatEq(0.7310586f), 0, 1000));
  EXPECT_THAT(gradient(result), ElementsAre(0.5f, FloatEq(0.9276706f), 0, 1));
  for (const char* beta : {"1", "0", "2.5", "-1"}) {
    check(layer("Swish", std::string("swish_param { beta: ") + beta + " }"), -2, 2);
  }
}

TEST(Threshold, Values) {
  RunOptions options;
  options.backward = false;
  const auto values = [&](const std::string& text) {
    return top(run(*make(text), {blob({4}, {-1, 0, 0.5f, 2})}, {}, {}, options));
  };
  EXPECT_THAT(values(layer("Threshold")), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(values(layer("Threshold", "threshold_param { threshold: 0.5 }")),
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(values(layer("Threshold", "threshold_param { threshold: -1 }")),
              ElementsAre(0, 1, 1, 1));
  const auto made = make(layer("Threshold"));
  EXPECT_FALSE(made->differentiable(0));
  EXPECT_FALSE(made->allow_force_backward(0));
}

}  // namespace
}  // namespace crema::test
