#include "commands/train.h"

#include <glog/logging.h>

#include <chrono>

#include "base/error.h"
#include "base/signals.h"
#include "base/text.h"
#include "commands/skipped.h"
#include "data/batch_reader.h"
#include "proto/io.h"
#include "proto/positions.h"
#include "report/stuck_loss.h"
#include "report/training_log.h"
#include "solver/snapshot.h"
#include "solver/solver.h"

namespace crema {
namespace {

/// Level and stages of the flags go into the train state, as Caffe's tool has it: the level always,
/// and without
/// --stage one stage of an empty name.
void set_train_state(caffe::SolverParameter& solver, const TrainOptions& options) {
  caffe::NetState* state = solver.mutable_train_state();
  state->set_level(options.level);
  const std::vector<std::string> stages = split(options.stages, ',');
  for (const std::string& stage : stages) state->add_stage(stage);
  if (stages.empty()) state->add_stage("");
}

/// Only an explicit solver_mode: GPU asks for a GPU; --devices cpu overrules it.
void check_mode(const caffe::SolverParameter& solver, const DeviceChoice& device) {
  const bool wants_gpu = solver.has_solver_mode() &&
                         solver.solver_mode() == caffe::SolverParameter::GPU &&
                         device.devices.empty();
  if (wants_gpu) {
    fail_at(position_of(solver, "solver_mode"),
            "solver_mode: GPU, but this build cannot run on a GPU yet; --devices cpu trains on the "
            "CPU");
  }
}

/// `seconds`: how long the training took.
void log_waiting(const Net& net, double seconds) {
  for (const auto& [layer, reader] : net.readers()) {
    const double waited = reader->seconds_waiting();
    LOG(INFO) << fmt::format(
        "Layer \"{}\": {:.0f} % of the time waiting for data ({:.1f} of {:.1f} s).", layer,
        seconds > 0 ? 100 * waited / seconds : 0, waited, seconds);
  }
}

}  // namespace

int train(const TrainOptions& options) {
  const SignalAction on_interrupt = parse_signal_action(options.sigint_effect, "sigint_effect");
  const SignalAction on_hangup = parse_signal_action(options.sighup_effect, "sighup_effect");
  const std::unique_ptr<Device> device = choose_device(options.device);
  log_device(*device);
  caffe::SolverParameter param = read_solver(options.solver, nullptr, {options.dialect});
  check_mode(param, options.device);
  set_train_state(param, options);
  SignalWatch signals(on_interrupt, on_hangup);
  remove_stale_temporaries(param.snapshot_prefix());
  SolverOptions solver_options;
  solver_options.signals = &signals;
  if (!options.snapshot.empty()) {
    solver_options.snapshots = resolve_snapshots(options.snapshot, param.snapshot_prefix());
    LOG_IF(INFO, solver_options.snapshots.empty())
        << "No snapshot of " << param.snapshot_prefix() << " yet; starting from the beginning.";
  }
  solver_options.weights = options.weights;
  solver_options.dialect = options.dialect;
  solver_options.keep_going = options.keep_going;
  solver_options.reading = options.reading;
  Solver solver(param, *device, solver_options);
  TrainingLog log(param.display(), solver.iteration(), solver.max_iter());
  solver.add_listener(&log);
  StuckLoss stuck_loss;
  solver.add_listener(&stuck_loss);
  const auto start = std::chrono::steady_clock::now();
  solver.solve();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log_waiting(solver.net(), took.count());
  log_skipped(solver.net());
  for (int i = 0; i < solver.test_nets(); ++i) {
    log_skipped(solver.test_net(i), fmt::format("Test net #{}, ", i));
  }
  return 0;
}

}  // namespace crema
