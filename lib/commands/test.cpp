#include "commands/test.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "commands/load_weights.h"
#include "commands/skipped.h"
#include "data/batch_reader.h"
#include "net/debug_info.h"
#include "proto/io.h"
#include "report/training_log.h"
#include "solver/score_sums.h"
#include "solver/snapshot.h"
#include "solver/solver.h"
#include "solver/whole_source.h"

namespace crema {
namespace {

void log_batch(const Net& net, int batch) {
  for (const OutputValue& output : outputs_of(net)) {
    for (const float value : output.values) {
      LOG(INFO) << fmt::format("Batch {}, {} = {:g}", batch, output.name, value);
    }
  }
}

caffe::NetState test_state(const TestOptions& options) {
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  state.set_level(options.level);
  for (const std::string& stage : split(options.stages, ',')) state.add_stage(stage);
  return state;
}

struct Subject {
  SolverNet net;
  std::vector<StoredWeights> weights;
  int iterations = 50;
  bool whole = false;  ///< every record once
};

Subject subject_of_solver(const TestOptions& options) {
  const caffe::SolverParameter solver = read_solver(options.solver, nullptr, {options.dialect});
  Subject subject;
  std::vector<SolverNet> nets = solver_test_nets(solver, {options.dialect});
  require(!nets.empty(), "{} has no test net", options.solver);
  subject.net = std::move(nets.front());
  // What the flags say goes on top of the solver's test_state.
  if (options.level != 0) subject.net.state.set_level(options.level);
  for (const std::string& stage : split(options.stages, ',')) subject.net.state.add_stage(stage);
  subject.whole = !tests_whole_sources(solver).empty();
  if (!subject.whole) subject.iterations = solver.test_iter(0);
  const std::vector<std::string> states =
      resolve_snapshots(options.snapshot, solver.snapshot_prefix());
  require(!states.empty(), "there is no snapshot of {}", solver.snapshot_prefix());
  subject.weights.push_back(first_usable_weights(states));
  return subject;
}

Subject subject_of(const TestOptions& options) {
  const bool model = !options.model.empty(), weights = !options.weights.empty();
  const bool solver = !options.solver.empty(), snapshot = !options.snapshot.empty();
  const bool by_solver = solver && snapshot && !model && !weights;
  if (!by_solver && !(model && weights && !solver && !snapshot)) {
    throw UsageError("give either --model and --weights, or --solver and --snapshot");
  }
  Subject subject;
  if (by_solver) {
    subject = subject_of_solver(options);
  } else {
    subject.net.net = read_net(options.model, nullptr, {options.dialect});
    subject.net.state = merged_state(caffe::TEST, subject.net.net, test_state(options));
    for (const std::string& file : split(options.weights, ',')) {
      subject.weights.push_back(read_weights(file));
    }
  }
  if (options.all) subject.whole = true;
  if (options.iterations > 0) {
    subject.iterations = options.iterations;
    subject.whole = options.all;
  }
  return subject;
}

}  // namespace

Scores score_batches(Net& net, int iterations) {
  ScoreSums sums;
  std::int64_t records = 0;
  for (int i = 0; i < iterations; ++i) {
    sums.add_batch(net, net.forward());
    log_batch(net, i);
    if (!net.readers().empty()) records += net.readers().front().second->items();
  }
  return {sums.mean(), sums.mean_loss(), records};
}

Scores score_all_records(Net& net) {
  WholePass pass(net, "--all");
  ScoreSums sums;
  std::int64_t records = 0;
  Progress progress("records", pass.total());
  for (int batch = 0; pass.next(); ++batch) {
    progress.clear();
    sums.add_records(net, net.forward(), pass.counted());
    records += pass.counted();
    log_batch(net, batch);
    progress.update(pass.done());
  }
  return {sums.mean(), sums.mean_loss(), records};
}

int test(const TestOptions& options) {
  const Subject subject = subject_of(options);
  const std::unique_ptr<Device> device = choose_device(options.device);
  log_device(*device);
  NetOptions net_options;
  net_options.state = subject.net.state;
  net_options.reading = options.reading;
  net_options.separate_layers = subject.net.net.debug_info();
  Net net(subject.net.net, *device, net_options);
  DebugInfo debug_info(net);
  if (subject.net.net.debug_info()) net.observe(&debug_info);
  for (const StoredWeights& weights : subject.weights) load_weights(net, weights);
  if (!subject.whole) LOG(INFO) << "Running for " << subject.iterations << " iterations.";
  const Scores scores =
      subject.whole ? score_all_records(net) : score_batches(net, subject.iterations);
  if (subject.whole) LOG(INFO) << "Records: " << scores.records << ", each once.";
  LOG(INFO) << fmt::format("Loss: {:g}", scores.loss);
  for (const OutputValue& output : scores.outputs) {
    for (const float value : output.values) {
      LOG(INFO) << score_text(output.name, value, output.loss_weight);
    }
    LOG_IF(WARNING, !std::ranges::all_of(output.values, [](float x) { return std::isfinite(x); }))
        << "\"" << output.name << "\" is not a finite number: it says nothing about the net";
  }
  log_skipped(net);
  return 0;
}

}  // namespace crema
