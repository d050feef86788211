#include "solver/solver_checks.h"

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

void check_solver(const caffe::SolverParameter& solver, bool signals) {
  check_learning_rate(solver);
  check_epochs(solver);
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
