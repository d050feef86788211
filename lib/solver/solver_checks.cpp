#include "solver/solver_checks.h"

#include <glog/logging.h>

#include "base/error.h"
#include "base/files.h"
#include "solver/epochs.h"
#include "solver/learning_rate.h"
#include "solver/solver_fields.h"

namespace crema {

bool takes_snapshots(const caffe::SolverParameter& solver, bool signals) {
  return solver.snapshot() > 0 || solver.snapshot_after_train() || solver.has_snapshot_best() ||
         signals;
}

namespace {

/// What Caffe takes without a word, though it is hardly meant.
void warn_of_fields(const caffe::SolverParameter& solver) {
  const auto warn = [&](const std::string& field, const std::string& text) {
    const std::string place = position_of(solver, field);
    LOG(WARNING) << place << (place.empty() ? "" : ": ") << text;
  };
  struct Missing {
    const char* policy;
    const char* field;
    bool given;
    const char* effect;
  };
  const bool gamma = solver.has_gamma(), power = solver.has_power();
  const bool stepvalue = solver.stepvalue_size() > 0;
  const char* const stays = "the rate stays base_lr";
  for (const Missing& missing : {
           Missing{"step", "gamma", gamma, "the rate is 0 from the first step on"},
           Missing{"exp", "gamma", gamma, "the rate is 0 from iteration 1 on"},
           Missing{"inv", "gamma", gamma, stays},
           Missing{"inv", "power", power, stays},
           Missing{"multistep", "gamma", gamma, "the rate is 0 from the first stepvalue on"},
           Missing{"multistep", "stepvalue", stepvalue, stays},
           Missing{"poly", "power", power, stays},
           Missing{"sigmoid", "gamma", gamma, "the rate stays half of base_lr"},
           Missing{"plateau", "gamma", gamma, "the rate is 0 from its first drop on"},
       }) {
    if (solver.lr_policy() != missing.policy || missing.given) continue;
    warn("lr_policy", fmt::format("lr_policy \"{}\" has no {}: {}", missing.policy, missing.field,
                                  missing.effect));
  }
  const std::string& type = solver.type();
  const auto decays = [&](const char* field, float value) {
    if (value < 0 || value >= 1) {
      warn(field, fmt::format("{} is {:g}; values that make sense are in [0, 1)", field, value));
    }
  };
  if (type != "AdaGrad" && type != "RMSProp") decays("momentum", solver.momentum());
  if (type == "Adam") decays("momentum2", solver.momentum2());
  const auto not_negative = [&](const char* field, float value) {
    if (value < 0)
      warn(field, fmt::format("{} is {:g}; a negative one makes no sense", field, value));
  };
  not_negative("base_lr", solver.base_lr());
  not_negative("weight_decay", solver.weight_decay());
}

}  // namespace

void check_solver(const caffe::SolverParameter& solver, bool signals) {
  check_learning_rate(solver);
  check_epochs(solver);
  warn_of_fields(solver);
  require_field(solver, "", solver.has_max_iter() || solver.has_max_epochs(),
                "max_iter is missing");
  require_field(solver, "max_iter", solver.max_iter() >= 0, "max_iter is {}; it cannot be negative",
                solver.max_iter());
  require_field(solver, "iter_size", solver.iter_size() > 0, "iter_size is {}; it must be > 0",
                solver.iter_size());
  require_field(solver, "average_loss", solver.average_loss() > 0,
                "average_loss is {}; it must be > 0", solver.average_loss());
  require_field(solver, "regularization_type",
                solver.weight_decay() == 0 || solver.regularization_type() == "L1" ||
                    solver.regularization_type() == "L2",
                "regularization_type \"{}\" is not known; it can be L1 or L2",
                solver.regularization_type());
  require_field(solver, "snapshot_keep_last", solver.snapshot_keep_last() >= 0,
                "snapshot_keep_last is {}; it cannot be negative", solver.snapshot_keep_last());
  if (takes_snapshots(solver, signals)) {
    with_context(position_of(solver, "snapshot_prefix"), [&] {
      require_writable_folder(solver.snapshot_prefix(), "snapshots (snapshot_prefix)");
    });
  }
}

}  // namespace crema
