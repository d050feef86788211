#include "solver/update_rule.h"

#include <cmath>

#include "support.h"

namespace crema {
namespace {

using namespace testing;

constexpr std::size_t kCount = 37;

/// One parameter in double precision, by the formulas as they stand in Caffe's documentation.
struct Reference {
  std::string type;
  double momentum = 0, momentum2 = 0.999, decay = 0.99, delta = 1e-8;

  /// The step u; h and h2 move on.
  double step(double rate, double g, int iteration, double& h, double& h2) const {
    if (type == "SGD") return h = momentum * h + rate * g;
    if (type == "Nesterov") {
      const double former = h;
      h = momentum * h + rate * g;
      return (1 + momentum) * h - momentum * former;
    }
    if (type == "AdaGrad") {
      h += g * g;
      return rate * g / (std::sqrt(h) + delta);
    }
    if (type == "RMSProp") {
      h = decay * h + (1 - decay) * g * g;
      return rate * g / (std::sqrt(h) + delta);
    }
    if (type == "AdaDelta") {
      h = momentum * h + (1 - momentum) * g * g;
      const double q = g * std::sqrt((h2 + delta) / (h + delta));
      h2 = momentum * h2 + (1 - momentum) * q * q;
      return rate * q;
    }
    h = momentum * h + (1 - momentum) * g;
    h2 = momentum2 * h2 + (1 - momentum2) * g * g;
    const int t = iteration + 1;
    return rate * std::sqrt(1 - std::pow(momentum2, t)) / (1 - std::pow(momentum, t)) * h /
           (std::sqrt(h2) + delta);
  }
};

class Memory {
 public:
  explicit Memory(Device& device)
      : buffer_(device, kCount * sizeof(float)),
        tensor_(device, Shape{kCount}, Layout(), buffer_.floats()) {}
  const Tensor& tensor() const { return tensor_; }
  float& operator[](std::size_t i) { return tensor_.update()[i]; }

 private:
  Buffer buffer_;
  Tensor tensor_;
};

void check_rule(const std::string& text, const Reference& reference, double tolerance) {
  const auto device = make_cpu_device(2);
  const auto rule = make_update_rule(solver_of("type: \"" + reference.type + "\" " + text));
  ASSERT_EQ(rule->histories(), reference.type == "Adam" || reference.type == "AdaDelta" ? 2 : 1);
  Memory w(*device), g(*device), h(*device), h2(*device);
  std::vector<double> rw(kCount), rh(kCount), rh2(kCount);
  const RandomStream stream(3, 4);
  for (std::size_t i = 0; i < kCount; ++i) {
    rw[i] = w[i] = i % 5 == 0 ? 0.0f : stream.uniform(0, i) - 0.5f;
  }
  std::vector<Tensor> history = {h.tensor()};
  if (rule->histories() == 2) history.push_back(h2.tensor());
  for (int iteration = 0; iteration < 12; ++iteration) {
    UpdateStep step;
    step.gradient_scale = 0.25f;
    step.rate = 0.1f / static_cast<float>(1 + iteration);
    step.l2 = iteration % 3 == 1 ? 0.01f : 0;
    step.l1 = iteration % 3 == 2 ? 0.02f : 0;
    step.iteration = iteration;
    step.keep_step = iteration % 2 == 1;
    for (std::size_t i = 0; i < kCount; ++i) {
      g[i] = stream.uniform(static_cast<std::uint64_t>(10 + iteration), i) - 0.5f;
    }
    std::vector<float> before(kCount);
    for (std::size_t i = 0; i < kCount; ++i) before[i] = g[i];
    rule->apply(step, g.tensor(), history, w.tensor());
    for (std::size_t i = 0; i < kCount; ++i) {
      const double sign = rw[i] > 0 ? 1 : rw[i] < 0 ? -1 : 0;
      const double regularised =
          double{before[i]} * step.gradient_scale + step.l2 * rw[i] + step.l1 * sign;
      const double u = reference.step(step.rate, regularised, iteration, rh[i], rh2[i]);
      rw[i] -= u;
      ASSERT_NEAR(w[i], rw[i], tolerance) << iteration << ", " << i;
      ASSERT_NEAR(h[i], rh[i], tolerance) << iteration << ", " << i;
      ASSERT_NEAR(h2[i], rh2[i], tolerance) << iteration << ", " << i;
      ASSERT_NEAR(g[i], step.keep_step ? u : double{before[i]}, tolerance) << iteration;
    }
  }
}

TEST(UpdateRuleTest, EveryRuleFollowsItsFormula) {
  check_rule("momentum: 0.9", {.type = "SGD", .momentum = 0.9}, 1e-6);
  check_rule("", {.type = "SGD"}, 1e-6);
  check_rule("momentum: 0.9", {.type = "Nesterov", .momentum = 0.9}, 1e-6);
  check_rule("delta: 1e-3", {.type = "AdaGrad", .delta = 1e-3}, 1e-5);
  check_rule("rms_decay: 0.8 delta: 1e-3", {.type = "RMSProp", .decay = 0.8, .delta = 1e-3}, 1e-5);
  check_rule("momentum: 0.95 delta: 1e-4", {.type = "AdaDelta", .momentum = 0.95, .delta = 1e-4},
             1e-5);
  check_rule("momentum: 0.9 momentum2: 0.99 delta: 1e-4",
             {.type = "Adam", .momentum = 0.9, .momentum2 = 0.99, .delta = 1e-4}, 2e-5);
}

TEST(UpdateRuleTest, TheDefaultIsSgd) {
  EXPECT_EQ(make_update_rule(solver_of(""))->histories(), 1);
}

TEST(UpdateRuleTest, ErrorsSayWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return solver_error([&] { make_update_rule(solver_of(text)); });
  };
  EXPECT_EQ(error("type: \"adam\""), "solver type \"adam\" is not known; did you mean \"Adam\"?");
  EXPECT_EQ(error("type: \"Newton\""), "solver type \"Newton\" is not known");
  EXPECT_EQ(error("type: \"AdaGrad\" momentum: 0.9"),
            "momentum is 0.9, but solver type AdaGrad has no use for it; leave it out");
  EXPECT_EQ(error("type: \"RMSProp\" momentum: 0.9"),
            "momentum is 0.9, but solver type RMSProp has no use for it; leave it out");
  EXPECT_EQ(error("type: \"RMSProp\" rms_decay: 1"), "rms_decay is 1; it must be in [0, 1)");
  EXPECT_EQ(error("type: \"RMSProp\" rms_decay: -0.5"), "rms_decay is -0.5; it must be in [0, 1)");
}

}  // namespace
}  // namespace crema
