#include "solver/update_rule.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "kernels/parallel_for.h"
#include "solver/solver_fields.h"

namespace crema {
namespace {

// The rules, element by element: g the regularised gradient, h and h2 the histories, the result the
// step u. Formulas as Caffe has them (Adam's delta is added to the root of the uncorrected second
// moment).

struct Sgd {
  static constexpr int kHistories = 1;
  float momentum;
  void prepare(int) {}
  float operator()(float rate, float g, float& h, float&) const {
    return h = momentum * h + rate * g;
  }
};

struct Nesterov {
  static constexpr int kHistories = 1;
  float momentum;
  void prepare(int) {}
  float operator()(float rate, float g, float& h, float&) const {
    const float former = h;
    h = momentum * h + rate * g;
    return (1 + momentum) * h - momentum * former;
  }
};

/// Duchi et al. 2011.
struct AdaGrad {
  static constexpr int kHistories = 1;
  float delta;
  void prepare(int) {}
  float operator()(float rate, float g, float& h, float&) const {
    h += g * g;
    return rate * g / (std::sqrt(h) + delta);
  }
};

/// Tieleman and Hinton 2012.
struct RmsProp {
  static constexpr int kHistories = 1;
  float decay, delta;
  void prepare(int) {}
  float operator()(float rate, float g, float& h, float&) const {
    h = decay * h + (1 - decay) * g * g;
    return rate * g / (std::sqrt(h) + delta);
  }
};

/// Zeiler 2012.
struct AdaDelta {
  static constexpr int kHistories = 2;
  float momentum, delta;
  void prepare(int) {}
  float operator()(float rate, float g, float& h, float& h2) const {
    h = momentum * h + (1 - momentum) * g * g;
    const float q = g * std::sqrt((h2 + delta) / (h + delta));
    h2 = momentum * h2 + (1 - momentum) * q * q;
    return rate * q;
  }
};

/// Kingma and Ba 2015.
struct Adam {
  static constexpr int kHistories = 2;
  float momentum, momentum2, delta;
  float correction = 1;
  void prepare(int iteration) {
    const auto t = static_cast<float>(iteration + 1);
    correction = std::sqrt(1 - std::pow(momentum2, t)) / (1 - std::pow(momentum, t));
  }
  float operator()(float rate, float g, float& h, float& h2) const {
    h = momentum * h + (1 - momentum) * g;
    h2 = momentum2 * h2 + (1 - momentum2) * g * g;
    return rate * correction * h / (std::sqrt(h2) + delta);
  }
};

template <class Rule>
class Sweep final : public UpdateRule {
 public:
  explicit Sweep(Rule rule) : rule_(rule) {}

  int histories() const override { return Rule::kHistories; }

  void apply(const UpdateStep& step, const Tensor& gradient, const std::vector<Tensor>& history,
             const Tensor& data) const override {
    CREMA_ASSERT(data.device().kind() == DeviceKind::kCpu);
    Rule rule = rule_;
    rule.prepare(step.iteration);
    float* const g = gradient.update();
    float* const h = history[0].update();
    float* const h2 = Rule::kHistories > 1 ? history[1].update() : h;
    float* const w = data.update();
    const auto sweep = [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float sign = static_cast<float>(w[i] > 0) - static_cast<float>(w[i] < 0);
        const float regularised = g[i] * step.gradient_scale + step.l2 * w[i] + step.l1 * sign;
        float first = h[i], second = h2[i];
        const float u = rule(step.rate, regularised, first, second);
        h[i] = first;
        if constexpr (Rule::kHistories > 1) h2[i] = second;
        w[i] -= u;
        if (step.keep_step) g[i] = u;
      }
    };
    parallel_ranges(data.device(), data.elements(), 4, sweep);
  }

 private:
  Rule rule_;
};

template <class Rule>
std::unique_ptr<UpdateRule> sweep(Rule rule) {
  return std::make_unique<Sweep<Rule>>(rule);
}

void require_no_momentum(const caffe::SolverParameter& solver) {
  require_field(solver, "momentum", solver.momentum() == 0,
                "momentum is {}, but solver type {} has no use for it; leave it out",
                solver.momentum(), solver.type());
}

}  // namespace

std::unique_ptr<UpdateRule> make_update_rule(const caffe::SolverParameter& solver) {
  const std::string& type = solver.type();
  if (type == "SGD") return sweep(Sgd{solver.momentum()});
  if (type == "Nesterov") return sweep(Nesterov{solver.momentum()});
  if (type == "AdaGrad") {
    require_no_momentum(solver);
    return sweep(AdaGrad{solver.delta()});
  }
  if (type == "RMSProp") {
    require_no_momentum(solver);
    require_field(solver, "rms_decay", solver.rms_decay() >= 0 && solver.rms_decay() < 1,
                  "rms_decay is {}; it must be in [0, 1)", solver.rms_decay());
    return sweep(RmsProp{solver.rms_decay(), solver.delta()});
  }
  if (type == "AdaDelta") return sweep(AdaDelta{solver.momentum(), solver.delta()});
  if (type == "Adam") return sweep(Adam{solver.momentum(), solver.momentum2(), solver.delta()});
  fail_at(position_of(solver, "type"), "solver type \"{}\" is not known{}", type,
          did_you_mean(type, {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"}));
}

}  // namespace crema
