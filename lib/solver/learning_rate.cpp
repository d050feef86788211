#include "solver/learning_rate.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "solver/solver_fields.h"

namespace crema {
namespace {

const std::vector<std::string> kPolicies = {"fixed",     "step", "exp",    "inv",
                                            "multistep", "poly", "sigmoid"};

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
}

float learning_rate(const caffe::SolverParameter& solver, int iteration, int* current_step) {
  const std::string& policy = solver.lr_policy();
  const float base = solver.base_lr(), gamma = solver.gamma();
  const auto iter = static_cast<float>(iteration);
  if (policy == "fixed") return base;
  if (policy == "step") {
    *current_step = iteration / solver.stepsize();
    return base * std::pow(gamma, static_cast<float>(*current_step));
  }
  if (policy == "exp") return base * std::pow(gamma, iter);
  if (policy == "inv") return base * std::pow(1 + gamma * iter, -solver.power());
  if (policy == "multistep") {
    if (*current_step < solver.stepvalue_size() && iteration >= solver.stepvalue(*current_step)) {
      ++*current_step;
    }
    return base * std::pow(gamma, static_cast<float>(*current_step));
  }
  if (policy == "poly") {
    return base * std::pow(1 - iter / static_cast<float>(solver.max_iter()), solver.power());
  }
  CREMA_ASSERT(policy == "sigmoid");
  return base / (1 + std::exp(-gamma * (iter - static_cast<float>(solver.stepsize()))));
}

}  // namespace crema
