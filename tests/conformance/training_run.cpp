#include "training_run.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "csv.h"
#include "proto/io.h"
#include "solver/solver.h"

namespace crema::conformance {
namespace {

class Recorder final : public TrainingListener {
 public:
  void on_display(const TrainingProgress& progress) override {
    record_.displays.push_back(progress);
  }
  void on_test(const TestScores& scores) override { record_.tests.push_back(scores); }

  TrainingRecord take() { return std::move(record_); }

 private:
  TrainingRecord record_;
};

std::string value_of(const TrainFlags& flags, const std::string& flag) {
  const auto found = flags.find(flag);
  return found == flags.end() ? "" : found->second;
}

/// Caffe's tool always sets the level and adds a stage, if only an empty one.
void set_train_state(const TrainFlags& flags, caffe::SolverParameter* solver) {
  const std::string level = value_of(flags, "level");
  solver->mutable_train_state()->set_level(level.empty() ? 0 : std::stoi(level));
  std::vector<std::string> stages = split(value_of(flags, "stage"), ',');
  if (stages.empty()) stages.emplace_back();
  for (const std::string& stage : stages) solver->mutable_train_state()->add_stage(stage);
}

/// A score as the table has it: output -1 is the loss.
struct Score {
  int iteration, net, output;
  std::string name;
  double value;
};

std::vector<Score> scores_of(const TrainingRecord& record) {
  std::vector<Score> scores;
  for (const TestScores& test : record.tests) {
    if (test.loss) scores.push_back({test.iteration, test.net, -1, "", *test.loss});
    int output = 0;
    for (const OutputValue& blob : test.outputs) {
      for (const float value : blob.values) {
        scores.push_back({test.iteration, test.net, output++, blob.name, value});
      }
    }
  }
  return scores;
}

}  // namespace

TrainFlags parse_train_flags(const std::vector<std::string>& arguments) {
  require(!arguments.empty() && arguments[0] == "train" && arguments.size() % 2 == 1,
          "these are no arguments of caffe train: {}", fmt::join(arguments, " "));
  TrainFlags flags;
  for (std::size_t i = 1; i < arguments.size(); i += 2) {
    flags[arguments[i].substr(arguments[i].find_first_not_of('-'))] = arguments[i + 1];
  }
  return flags;
}

TrainingRecord train(const TrainFlags& flags, Device& device) {
  caffe::SolverParameter parameter = read_solver(value_of(flags, "solver"));
  set_train_state(flags, &parameter);
  Recorder recorder;
  SolverOptions options;
  options.listeners = {&recorder};
  const std::string snapshot = value_of(flags, "snapshot");
  if (!snapshot.empty()) options.snapshots = {snapshot};
  options.weights = value_of(flags, "weights");
  Solver solver(parameter, device, options);
  require(solver.solve(), "the run stopped early");
  return recorder.take();
}

void compare_test_scores(const TrainingRecord& record, const std::string& csv,
                         const std::map<std::string, double>& tolerance, double default_tolerance,
                         Report* report) {
  const auto rows = read_csv(csv);
  const std::vector<Score> scores = scores_of(record);
  report->check(scores.size() == rows.size(),
                fmt::format("{} test scores, expected {}", scores.size(), rows.size()));
  for (std::size_t i = 0; i < std::min(rows.size(), scores.size()); ++i) {
    const Score& score = scores[i];
    const auto& row = rows[i];
    const std::string what = fmt::format("test score of iteration {}, net {}, output {} \"{}\"",
                                         score.iteration, score.net, score.output, score.name);
    const bool same = score.iteration == std::stoi(row[0]) && score.net == std::stoi(row[1]) &&
                      score.output == std::stoi(row[2]) &&
                      (score.output < 0 || score.name == row[3]);
    report->check(same, fmt::format("{}, expected {}", what, fmt::join(row, ",")));
    const double expected = std::stod(row[4]);
    const auto own = tolerance.find(score.name);
    report->compare(what, score.value, expected,
                    own == tolerance.end() ? default_tolerance : own->second,
                    std::max(1.0, std::abs(expected)));
  }
}

}  // namespace crema::conformance
