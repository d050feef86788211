#include "commands/train.h"

#include <gflags/gflags.h>

#include "base/tool.h"
#include "common_flags.h"
#include "data_flags.h"

DEFINE_string(solver, "", "the solver prototxt (required)");
DEFINE_string(weights, "",
              "start from these weights, files separated by commas; layers are matched by name");
DEFINE_string(snapshot, "",
              "go on from a solver state: a file, an iteration number, or auto for the newest good "
              "one of the "
              "solver's snapshot_prefix (from the beginning when there is none)");
DEFINE_bool(
    keep_going, false,
    "go on when the loss or a gradient is NaN or infinite, which otherwise ends the run with "
    "an error that names the layer");
DEFINE_string(sigint_effect, "stop",
              "what SIGINT (ctrl-C) does: stop, snapshot or none; stop saves a snapshot too");
DEFINE_string(sighup_effect, "snapshot", "what SIGHUP does: stop, snapshot or none");

namespace {

const crema::ToolInfo kInfo = {
    "train",
    "train --solver FILE [--weights A,B | --snapshot FILE|N|auto] [flags]",
    "Trains a net as a Caffe solver prototxt says.",
    "Writes PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate (PREFIX is the solver's "
    "snapshot_prefix) every\n"
    "`snapshot` iterations and at the end, and logs in Caffe's lines to standard error. A resumed "
    "run goes on exactly\n"
    "where the snapshot was made: data position, random masks and all.\n"
    "\n"
    "docs/solver.md has all fields of a solver. Beyond Caffe's: lr_policy \"plateau\", "
    "warmup_iter, "
    "min_lr, max_epochs,\n"
    "test_epochs, test_all, snapshot_keep_last, snapshot_best, early_stop_tests.",
    "  train --solver models/lenet/solver.prototxt\n"
    "  train --solver models/lenet/solver.prototxt --snapshot auto\n"
    "  train --solver finetune.prototxt --weights caffenet.caffemodel",
};

int run(const std::vector<std::string>&) {
  if (FLAGS_solver.empty()) throw crema::UsageError("--solver is missing");
  if (!FLAGS_snapshot.empty() && !FLAGS_weights.empty()) {
    throw crema::UsageError("give --snapshot to go on or --weights to fine-tune, not both");
  }
  crema::TrainOptions options;
  options.solver = FLAGS_solver;
  options.weights = FLAGS_weights;
  options.snapshot = FLAGS_snapshot;
  options.device = device_flags();
  options.dialect = dialect_flag();
  options.reading = reading_flags();
  options.level = FLAGS_level;
  options.stages = FLAGS_stage;
  options.keep_going = FLAGS_keep_going;
  options.sigint_effect = FLAGS_sigint_effect;
  options.sighup_effect = FLAGS_sighup_effect;
  const auto data_threads = data_threads_flag();
  return crema::train(options);
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
