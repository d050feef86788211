#include "commands/test.h"

#include <gflags/gflags.h>

#include "base/tool.h"
#include "common_flags.h"
#include "data_flags.h"

DEFINE_string(model, "", "the net prototxt");
DEFINE_string(weights, "", "its weights, files separated by commas");
DEFINE_string(solver, "", "instead of --model: the solver whose first test net is tested");
DEFINE_string(snapshot, "",
              "with --solver: an iteration number, auto (the newest good one), or a state file");
DEFINE_int32(iterations, 0, "batches to run; 0: the solver's test_iter, else 50");
DEFINE_bool(all, false,
            "every record of the source exactly once; the scores are those of one batch of all");

namespace {

const crema::ToolInfo kInfo = {
    "test",
    "test --model FILE --weights FILE [--iterations N | --all]",
    "Scores a trained net: the mean of all its outputs.",
    "The net runs in phase TEST. Each batch's outputs and then their means are logged in Caffe's "
    "lines to standard\n"
    "error. With --all the last batch is as short as it must be, so the score is that of the whole "
    "source.",
    "  test --model models/lenet/train_val.prototxt --weights out/lenet_iter_10000.caffemodel "
    "--iterations 100\n"
    "  test --solver models/lenet/solver.prototxt --snapshot auto --all",
};

int run(const std::vector<std::string>&) {
  if (FLAGS_iterations < 0) throw crema::UsageError("--iterations cannot be negative");
  if (FLAGS_all && FLAGS_iterations > 0) {
    throw crema::UsageError("--all decides on the number of batches; leave --iterations out");
  }
  crema::TestOptions options;
  options.model = FLAGS_model;
  options.weights = FLAGS_weights;
  options.solver = FLAGS_solver;
  options.snapshot = FLAGS_snapshot;
  options.iterations = FLAGS_iterations;
  options.all = FLAGS_all;
  options.device = device_flags();
  options.dialect = dialect_flag();
  options.reading = reading_flags();
  options.level = FLAGS_level;
  options.stages = FLAGS_stage;
  const auto data_threads = data_threads_flag();
  return crema::test(options);
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
