// ReLU, Sigmoid and TanH.
#include <cmath>
#include <limits>

#include "kernels/pointwise.h"
#include "op_harness.h"

namespace crema::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string layer(const std::string& type, const std::string& rest = "") {
  return "type: \"" + type + "\" bottom: \"x\" top: \"y\" " + rest;
}

Result of(const std::string& text, std::vector<float> x, std::vector<float> dy) {
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  return run(*make(text), {blob(shape, std::move(x))}, {}, {blob(shape, std::move(dy))});
}

TEST(Relu, Values) {
  const Result plain = of(layer("ReLU"), {-2, 0, 3, kInf, -kInf}, {1, 2, 3, 4, 5});
  EXPECT_THAT(plain.tops[0].values, testing::ElementsAre(0, 0, 3, kInf, 0));
  EXPECT_THAT(plain.bottom_gradients[0].values, testing::ElementsAre(0, 0, 3, 4, 0));
  const Result leaky =
      of(layer("ReLU", "relu_param { negative_slope: 0.5 }"), {-2, 0, 3}, {1, 2, 3});
  EXPECT_THAT(leaky.tops[0].values, testing::ElementsAre(-1, 0, 3));
  EXPECT_THAT(leaky.bottom_gradients[0].values, testing::ElementsAre(0.5f, 1, 3));
  const Result bent =
      of(layer("ReLU", "relu_param { negative_slope: -0.5 }"), {-2, 0, 3}, {1, 2, 3});
  EXPECT_THAT(bent.tops[0].values, testing::ElementsAre(1, 0, 3));
  EXPECT_THAT(bent.bottom_gradients[0].values, testing::ElementsAre(-0.5f, -1, 3));
}

TEST(Relu, NanStaysNan) {
  EXPECT_TRUE(std::isnan(of(layer("ReLU"), {kNan}, {1}).tops[0].values[0]));
  EXPECT_TRUE(std::isnan(
      of(layer("ReLU", "relu_param { negative_slope: 0.5 }"), {kNan}, {1}).tops[0].values[0]));
}

TEST(Relu, DeclaresWhatBackwardReads) {
  const auto plain = make(layer("ReLU"));
  EXPECT_FALSE(plain->backward_reads_bottom(0));
  EXPECT_TRUE(plain->backward_reads_top(0));
  EXPECT_TRUE(plain->forward_in_place());
  const auto bent = make(layer("ReLU", "relu_param { negative_slope: -1 }"));
  EXPECT_TRUE(bent->backward_reads_bottom(0));
  EXPECT_FALSE(bent->backward_reads_top(0));
  EXPECT_FALSE(bent->forward_in_place());
}

TEST(Sigmoid, ValuesAndLimits) {
  const Result result =
      of(layer("Sigmoid"), {0, std::log(3.0f), -1000, 1000, -kInf, -100}, {1, 16, 1, 1, 1, 1});
  EXPECT_THAT(result.tops[0].values,
              testing::ElementsAre(0.5f, testing::FloatEq(0.75f), 0, 1, 0, 0));
  EXPECT_THAT(result.bottom_gradients[0].values,
              testing::ElementsAre(0.25f, testing::FloatEq(3), 0, 0, 0, 0));
}

TEST(Tanh, ValuesAndLimits) {
  const Result result = of(layer("TanH"), {0, 0.5f, -1000, kInf}, {2, 1, 1, 1});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(0, testing::FloatEq(0.46211716f), -1, 1));
  EXPECT_THAT(result.bottom_gradients[0].values,
              testing::ElementsAre(2, testing::FloatEq(0.7864477f), 0, 0));
}

TEST(Pointwise, Checks) {
  for (const char* text :
       {"type: 'ReLU'", "type: 'ReLU' relu_param { negative_slope: 0.3 }",
        "type: 'ReLU' relu_param { negative_slope: -0.3 }", "type: 'Sigmoid'", "type: 'TanH'"}) {
    check_layer(std::string(text) + " bottom: 'x' top: 'y'", {spread({2, 3, 4, 5}, -2, 2)}, {});
    check_layer(std::string(text) + " bottom: 'x' top: 'y'", {spread({8}, -2, 2)}, {});
    // Long enough for several threads.
    check_layer(std::string(text) + " bottom: 'x' top: 'y'", {spread({100000}, -2, 2)}, {}, 0);
  }
}

/// The loops in double, where finite differences are sharp.
struct Cube {
  static constexpr bool kReadsBottom = true, kReadsTop = true;
  static constexpr int kCost = 2;
  template <class T>
  T y(T x) const {
    return x * x * x;
  }
  template <class T>
  T dx(T x, T y, T dy) const {
    return dy * 3 * (x == 0 ? T(0) : y / x);
  }
};

TEST(Pointwise, LoopsInDoubleAndInPlace) {
  const auto device = make_cpu_device(2);
  std::vector<double> x = {-1.5, -0.25, 0.5, 2}, y(4), dy = {1, -2, 3, 0.5}, dx(4);
  pointwise_forward<Cpu>(*device, Cube{}, 4, x.data(), y.data());
  pointwise_backward<Cpu>(*device, Cube{}, 4, x.data(), y.data(), dy.data(), dx.data());
  for (std::size_t i = 0; i < 4; ++i) {
    constexpr double h = 1e-6;
    const double difference = (std::pow(x[i] + h, 3) - std::pow(x[i] - h, 3)) / (2 * h);
    EXPECT_NEAR(dx[i], dy[i] * difference, 1e-8);
  }
  std::vector<double> in_place = x;
  pointwise_forward<Cpu>(*device, Cube{}, 4, in_place.data(), in_place.data());
  EXPECT_EQ(in_place, y);
}

TEST(LoopTable, FindsLoopsByNameAndType) {
  const auto device = make_cpu_device(1);
  LoopTable table;
  table.add("cube", &pointwise_forward<Cpu, Cube, double>);
  const auto loop = table.find<Cube, std::int64_t, const double*, double*>("cube", *device);
  EXPECT_EQ(loop, (&pointwise_forward<Cpu, Cube, double>));
  EXPECT_THROW((table.find<int>("cube", *device)), Error);
  try {
    table.find<int>("sphere", *device);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), testing::HasSubstr("CPU has no loop \"sphere\""));
  }
}

}  // namespace
}  // namespace crema::test
