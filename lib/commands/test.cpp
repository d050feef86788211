#include "commands/test.h"

#include <glog/logging.h>

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "commands/load_weights.h"
#include "data/batch_reader.h"
#include "proto/io.h"
#include "report/training_log.h"
#include "solver/snapshot.h"
#include "solver/solver.h"

namespace crema {
namespace {

/// Weighted sums of outputs.
class ScoreSums {
 public:
  void add(const Net& net, float loss, double weight) {
    std::size_t i = 0;
    for (const std::string& name : net.outputs()) {
      const std::vector<float> values = net.read_blob(name);
      if (sums_.size() <= i) {
        outputs_.push_back({name, values, net.loss_weight(name)});
        sums_.emplace_back(values.size(), 0.0);
      }
      require(sums_[i].size() == values.size(),
              "output \"{}\" has {} values for this batch and {} for others, so it has no mean; "
              "--iterations with "
              "full batches can score it",
              name, values.size(), sums_[i].size());
      for (std::size_t j = 0; j < values.size(); ++j) {
        LOG(INFO) << fmt::format("Batch {}, {} = {:g}", batches_, name, values[j]);
        sums_[i][j] += weight * values[j];
      }
      ++i;
    }
    ++batches_;
    loss_ += weight * loss;
    weight_ += weight;
  }

  Scores mean() {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      for (std::size_t j = 0; j < sums_[i].size(); ++j) {
        outputs_[i].values[j] = static_cast<float>(sums_[i][j] / weight_);
      }
    }
    return {outputs_, loss_ / weight_, 0};
  }

 private:
  std::vector<OutputValue> outputs_;
  std::vector<std::vector<double>> sums_;
  double loss_ = 0, weight_ = 0;
  int batches_ = 0;
};

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
};

Subject subject_of_solver(const TestOptions& options) {
  const caffe::SolverParameter solver = read_solver(options.solver);
  Subject subject;
  std::vector<SolverNet> nets = solver_test_nets(solver);
  require(!nets.empty(), "{} has no test net", options.solver);
  subject.net = std::move(nets.front());
  // What the flags say goes on top of the solver's test_state.
  if (options.level != 0) subject.net.state.set_level(options.level);
  for (const std::string& stage : split(options.stages, ',')) subject.net.state.add_stage(stage);
  subject.iterations = solver.test_iter(0);
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
    subject.net.net = read_net(options.model);
    subject.net.state = merged_state(caffe::TEST, subject.net.net, test_state(options));
    for (const std::string& file : split(options.weights, ',')) {
      subject.weights.push_back(read_weights(file));
    }
  }
  if (options.iterations > 0) subject.iterations = options.iterations;
  return subject;
}

}  // namespace

Scores score_batches(Net& net, int iterations) {
  ScoreSums sums;
  std::int64_t records = 0;
  for (int i = 0; i < iterations; ++i) {
    sums.add(net, net.forward(), 1);
    if (!net.readers().empty()) records += net.readers().front().second->batch_size();
  }
  Scores scores = sums.mean();
  scores.records = records;
  return scores;
}

Scores score_all_records(Net& net) {
  const auto readers = net.readers();
  require(!readers.empty(), "--all needs a net with a data layer; this one has none");
  const std::int64_t records = readers.front().second->records();
  const int batch = readers.front().second->batch_size();
  for (const auto& [layer, reader] : readers) {
    require(reader->records() == records && reader->batch_size() == batch,
            "--all: layers \"{}\" and \"{}\" read {} and {} records in batches of {} and {}; they "
            "must agree",
            readers.front().first, layer, records, reader->records(), batch, reader->batch_size());
  }
  ScoreSums sums;
  Progress progress("records", records);
  for (std::int64_t done = 0; done < records;) {
    const int now = static_cast<int>(std::min<std::int64_t>(batch, records - done));
    net.set_batch(now);
    progress.clear();
    sums.add(net, net.forward(), now);
    done += now;
    progress.update(done);
  }
  net.set_batch(0);
  Scores scores = sums.mean();
  scores.records = records;
  return scores;
}

int test(const TestOptions& options) {
  const Subject subject = subject_of(options);
  const std::unique_ptr<Device> device = choose_device(options.device);
  log_device(*device);
  NetOptions net_options;
  net_options.state = subject.net.state;
  Net net(subject.net.net, *device, net_options);
  for (const StoredWeights& weights : subject.weights) load_weights(net, weights);
  if (!options.all) LOG(INFO) << "Running for " << subject.iterations << " iterations.";
  const Scores scores =
      options.all ? score_all_records(net) : score_batches(net, subject.iterations);
  if (options.all) LOG(INFO) << "Records: " << scores.records << ", each once.";
  LOG(INFO) << fmt::format("Loss: {:g}", scores.loss);
  for (const OutputValue& output : scores.outputs) {
    for (const float value : output.values) {
      LOG(INFO) << score_text(output.name, value, output.loss_weight);
    }
  }
  return 0;
}

}  // namespace crema
