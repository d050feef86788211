#include "solver/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "solver/solver_fields.h"

namespace crema {
namespace {

const std::vector<std::string> kPolicies = {"fixed",     "step", "exp",     "inv",
                                            "multistep", "poly", "sigmoid", "plateau"};

void check_plateau(const caffe::SolverParameter& solver) {
  require_field(solver, "lr_policy", solver.plateau_winsize_size() > 0,
                "lr_policy \"plateau\" needs plateau_winsize: after how many iterations without a "
                "new minimum of the loss the rate drops");
  for (int i = 0; i < solver.plateau_winsize_size(); ++i) {
    require_field(solver, fmt::format("plateau_winsize[{}]", i), solver.plateau_winsize(i) > 0,
                  "plateau_winsize is {}; it must be > 0", solver.plateau_winsize(i));
  }
}

void check_bounds(const caffe::SolverParameter& solver) {
  require_field(solver, "warmup_iter", solver.warmup_iter() >= 0,
                "warmup_iter is {}; it cannot be negative", solver.warmup_iter());
  require_field(solver, "warmup_start_lr", std::isfinite(solver.warmup_start_lr()),
                "warmup_start_lr is {}", solver.warmup_start_lr());
  require_field(solver, "warmup_start_lr",
                !solver.has_warmup_start_lr() || solver.warmup_iter() > 0,
                "warmup_start_lr is given without warmup_iter, the length of the warm-up");
  require_field(
      solver, "min_lr",
      !solver.has_min_lr() || (solver.min_lr() >= 0 && solver.min_lr() <= solver.base_lr()),
      "min_lr is {}; it must be between 0 and base_lr, which is {}", solver.min_lr(),
      solver.base_lr());
}

float plateau_rate(const caffe::SolverParameter& solver, int iteration, float loss,
                   RateState* state) {
  if (loss < state->minimum) {
    state->minimum = loss;
    state->event = iteration;
  }
  if (state->current_step < solver.plateau_winsize_size() &&
      iteration - state->event >= solver.plateau_winsize(state->current_step)) {
    ++state->current_step;
    state->event = iteration;
  }
  return solver.base_lr() * std::pow(solver.gamma(), static_cast<float>(state->current_step));
}

float policy_rate(const caffe::SolverParameter& solver, int iteration, float loss,
                  RateState* state) {
  const std::string& policy = solver.lr_policy();
  const float base = solver.base_lr(), gamma = solver.gamma();
  const auto iter = static_cast<float>(iteration);
  if (policy == "fixed") return base;
  if (policy == "step") {
    state->current_step = iteration / solver.stepsize();
    return base * std::pow(gamma, static_cast<float>(state->current_step));
  }
  if (policy == "exp") return base * std::pow(gamma, iter);
  if (policy == "inv") return base * std::pow(1 + gamma * iter, -solver.power());
  if (policy == "multistep") {
    if (state->current_step < solver.stepvalue_size() &&
        iteration >= solver.stepvalue(state->current_step)) {
      ++state->current_step;
    }
    return base * std::pow(gamma, static_cast<float>(state->current_step));
  }
  if (policy == "poly") {
    return base * std::pow(1 - iter / static_cast<float>(solver.max_iter()), solver.power());
  }
  if (policy == "plateau") return plateau_rate(solver, iteration, loss, state);
  CREMA_ASSERT(policy == "sigmoid");
  return base / (1 + std::exp(-gamma * (iter - static_cast<float>(solver.stepsize()))));
}

}  // namespace

void check_learning_rate(const caffe::SolverParameter& solver) {
  const std::string& policy = solver.lr_policy();
  require_field(solver, "", solver.has_lr_policy(), "lr_policy is missing; it can be {}",
                fmt::join(kPolicies, ", "));
  bool known = false;
  for (const std::string& name : kPolicies) known |= policy == name;
  const std::string hint = did_you_mean(policy, kPolicies);
  require_field(solver, "lr_policy", known, "lr_policy \"{}\" is not known{} It can be {}", policy,
                hint.empty() ? "." : hint, fmt::join(kPolicies, ", "));
  require_field(solver, "", solver.has_base_lr(), "base_lr is missing");
  require_field(solver, "base_lr", std::isfinite(solver.base_lr()), "base_lr is {}",
                solver.base_lr());
  const bool uses_gamma = policy != "fixed" && policy != "poly";
  require_field(solver, "gamma", !uses_gamma || solver.gamma() >= 0,
                "gamma is {}; lr_policy \"{}\" needs it to be >= 0", solver.gamma(), policy);
  const bool uses_stepsize = policy == "step" || policy == "sigmoid";
  require_field(solver, "stepsize", !uses_stepsize || solver.stepsize() > 0,
                "stepsize is {}; lr_policy \"{}\" needs it to be > 0", solver.stepsize(), policy);
  for (int i = 1; policy == "multistep" && i < solver.stepvalue_size(); ++i) {
    require_field(solver, fmt::format("stepvalue[{}]", i),
                  solver.stepvalue(i) >= solver.stepvalue(i - 1),
                  "stepvalue {} comes after {}: they must grow", solver.stepvalue(i),
                  solver.stepvalue(i - 1));
  }
  if (policy == "plateau") check_plateau(solver);
  check_bounds(solver);
}

float learning_rate(const caffe::SolverParameter& solver, int iteration, float loss,
                    RateState* state) {
  if (iteration < solver.warmup_iter()) {
    const float share = static_cast<float>(iteration) / static_cast<float>(solver.warmup_iter());
    return solver.warmup_start_lr() + (solver.base_lr() - solver.warmup_start_lr()) * share;
  }
  const float rate = policy_rate(solver, iteration, loss, state);
  return solver.has_min_lr() ? std::max(rate, solver.min_lr()) : rate;
}

}  // namespace crema
