#include "solver/learning_rate.h"

#include <cmath>

#include "support.h"

namespace crema {
namespace {

using namespace testing;

/// Rates of iterations 0 .. n-1, each asked for once, as the solver does.
std::vector<float> rates(const std::string& text, int n) {
  const caffe::SolverParameter solver = solver_of("base_lr: 0.5 max_iter: 20 " + text);
  check_learning_rate(solver);
  std::vector<float> values;
  RateState state;
  for (int i = 0; i < n; ++i) values.push_back(learning_rate(solver, i, 0, &state));
  return values;
}

void expect_rates(const std::string& text, const std::function<double(int)>& formula) {
  const std::vector<float> values = rates(text, 20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_NEAR(values[static_cast<std::size_t>(i)], formula(i), 1e-6) << text << ", " << i;
  }
}

TEST(LearningRateTest, FollowsTheClosedFormulas) {
  expect_rates("lr_policy: \"fixed\"", [](int) { return 0.5; });
  expect_rates("lr_policy: \"step\" gamma: 0.5 stepsize: 3",
               [](int i) { return 0.5 * std::pow(0.5, i / 3); });
  expect_rates("lr_policy: \"exp\" gamma: 0.9", [](int i) { return 0.5 * std::pow(0.9, i); });
  expect_rates("lr_policy: \"inv\" gamma: 0.1 power: 0.75",
               [](int i) { return 0.5 * std::pow(1 + 0.1 * i, -0.75); });
  expect_rates("lr_policy: \"poly\" power: 2",
               [](int i) { return 0.5 * std::pow(1 - i / 20.0, 2); });
  expect_rates("lr_policy: \"sigmoid\" gamma: 0.3 stepsize: 8",
               [](int i) { return 0.5 / (1 + std::exp(-0.3 * (i - 8))); });
  expect_rates("lr_policy: \"multistep\" gamma: 0.1 stepvalue: 4 stepvalue: 9", [](int i) {
    return i < 4 ? 0.5 : i < 9 ? 0.05 : 0.005;
  });
}

TEST(LearningRateTest, StepStoresItsStep) {
  const auto solver = solver_of("base_lr: 1 lr_policy: \"step\" gamma: 0.5 stepsize: 3");
  RateState state;
  learning_rate(solver, 7, 0, &state);
  EXPECT_EQ(state.current_step, 2);
}

TEST(LearningRateTest, MultistepTakesOneStepACall) {
  // Two steps at one iteration take two iterations.
  const std::vector<float> values =
      rates("lr_policy: \"multistep\" gamma: 0.1 stepvalue: 2 stepvalue: 2", 5);
  EXPECT_FLOAT_EQ(values[1], 0.5f);
  EXPECT_FLOAT_EQ(values[2], 0.05f);
  EXPECT_FLOAT_EQ(values[3], 0.005f);
  // One that starts late catches up one by one.
  const auto solver =
      solver_of("base_lr: 1 lr_policy: \"multistep\" gamma: 0.1 stepvalue: 1 stepvalue: 2");
  RateState state;
  EXPECT_FLOAT_EQ(learning_rate(solver, 10, 0, &state), 0.1f);
  EXPECT_FLOAT_EQ(learning_rate(solver, 11, 0, &state), 0.01f);
  EXPECT_FLOAT_EQ(learning_rate(solver, 12, 0, &state), 0.01f);
}

TEST(LearningRateTest, ErrorsNameTheField) {
  const auto error = [](const std::string& text) {
    return solver_error([&] { check_learning_rate(solver_of(text)); });
  };
  const std::string policies = "fixed, step, exp, inv, multistep, poly, sigmoid, plateau";
  EXPECT_EQ(error("base_lr: 1"), "lr_policy is missing; it can be " + policies);
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"stop\""),
            "lr_policy \"stop\" is not known; did you mean \"step\"? It can be " + policies);
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"whatever\""),
            "lr_policy \"whatever\" is not known. It can be " + policies);
  EXPECT_EQ(error("lr_policy: \"fixed\""), "base_lr is missing");
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"exp\" gamma: -1"),
            "gamma is -1; lr_policy \"exp\" needs it to be >= 0");
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"step\" gamma: 1"),
            "stepsize is 0; lr_policy \"step\" needs it to be > 0");
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"sigmoid\" gamma: 1 stepsize: -2"),
            "stepsize is -2; lr_policy \"sigmoid\" needs it to be > 0");
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"multistep\" stepvalue: 5 stepvalue: 4"),
            "stepvalue 4 comes after 5: they must grow");
  EXPECT_EQ(error("base_lr: 1 lr_policy: \"fixed\" gamma: -1 stepsize: -1"), "");
}

TEST(LearningRateTest, WarmUpGrowsEvenlyBeforeThePolicy) {
  expect_rates("lr_policy: \"fixed\" warmup_iter: 4",
               [](int i) { return i < 4 ? 0.5 * i / 4 : 0.5; });
  // The policy counts iterations from the beginning of the run.
  expect_rates("lr_policy: \"step\" gamma: 0.5 stepsize: 8 warmup_iter: 5 warmup_start_lr: 0.1",
               [](int i) { return i < 5 ? 0.1 + 0.4 * i / 5 : 0.5 * std::pow(0.5, i / 8); });
}

TEST(LearningRateTest, MinLrIsTheLeastThatAPolicyGives) {
  expect_rates("lr_policy: \"exp\" gamma: 0.8 min_lr: 0.1",
               [](int i) { return std::max(0.5 * std::pow(0.8, i), 0.1); });
  // A warm-up may begin below it.
  expect_rates("lr_policy: \"fixed\" min_lr: 0.2 warmup_iter: 10",
               [](int i) { return i < 10 ? 0.05 * i : 0.5; });
}

TEST(LearningRateTest, PlateauDropsWhenTheLossHasNoNewMinimum) {
  const auto solver = solver_of(
      "base_lr: 1 lr_policy: \"plateau\" gamma: 0.1 plateau_winsize: 3 plateau_winsize: 2");
  check_learning_rate(solver);
  //                              0  1  2  3  4  5    6    7    8    9  10 11 12 13
  const std::vector<float> loss = {5, 4, 4, 6, 4, 3.9f, 3.9f, 3.9f, 3.9f, 3.9f, 2, 2, 2, 2};
  // 4 at iteration 1 is the minimum; 3 iterations without a lower one: the drop is at 4. Then 3.9
  // at 5, and 2 iterations later the second drop. After the last entry the rate stays.
  const std::vector<float> expected = {1,    1,    1,    1,    .1f,  .1f,  .1f,
                                       .01f, .01f, .01f, .01f, .01f, .01f, .01f};
  RateState state;
  for (int i = 0; i < 14; ++i) {
    const auto index = static_cast<std::size_t>(i);
    EXPECT_FLOAT_EQ(learning_rate(solver, i, loss[index], &state), expected[index]) << i;
  }
  EXPECT_EQ(state.current_step, 2);
  EXPECT_EQ(state.minimum, 2);
  EXPECT_EQ(state.event, 10);
}

TEST(LearningRateTest, ErrorsOfTheFieldsBeyondCaffe) {
  const auto error = [](const std::string& text) {
    return solver_error(
        [&] { check_learning_rate(solver_of("base_lr: 1 gamma: 1 lr_policy: " + text)); });
  };
  EXPECT_EQ(error("\"plateau\""),
            "lr_policy \"plateau\" needs plateau_winsize: after how many iterations without a new "
            "minimum of the loss the rate drops");
  EXPECT_EQ(error("\"plateau\" plateau_winsize: 5 plateau_winsize: 0"),
            "plateau_winsize is 0; it must be > 0");
  EXPECT_EQ(error("\"fixed\" warmup_iter: -1"), "warmup_iter is -1; it cannot be negative");
  EXPECT_EQ(error("\"fixed\" warmup_start_lr: 0.1"),
            "warmup_start_lr is given without warmup_iter, the length of the warm-up");
  EXPECT_EQ(error("\"fixed\" warmup_iter: 2 warmup_start_lr: nan"), "warmup_start_lr is nan");
  EXPECT_EQ(error("\"fixed\" min_lr: 2"),
            "min_lr is 2; it must be between 0 and base_lr, which is 1");
  EXPECT_EQ(error("\"fixed\" min_lr: -1"),
            "min_lr is -1; it must be between 0 and base_lr, which is 1");
}

TEST(LearningRateTest, ErrorsNameTheLine) {
  EXPECT_EQ(error_of([] {
              check_learning_rate(solver_of("base_lr: 1\nlr_policy: \"exp\"\ngamma: -1"));
            }).rfind("solver.prototxt:3", 0),
            0u);
}

}  // namespace
}  // namespace crema
