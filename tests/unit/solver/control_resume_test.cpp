// What controls a training beyond Caffe's fields goes on exactly, too: the rest of a resumed run,
// its files and its last state are those of the run that was not interrupted.
#include <gmock/gmock.h>

#include <map>

#include "proto/solver_state.h"
#include "solver/snapshot.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

struct Outcome {
  int iteration = 0;
  std::vector<std::vector<float>> params;
  std::map<int, float> rates;
  std::map<int, std::vector<std::vector<float>>> tests;
  std::map<std::string, std::string> states;  // by file name, without the path of the weights
};

Outcome train(const std::string& folder, const std::string& text, int from) {
  const auto device = make_cpu_device(1);
  Recorder recorder;
  SolverOptions options;
  options.listeners = {&recorder};
  const std::string prefix = folder + "/s";
  if (from > 0) options.snapshots = {snapshot_files(prefix, from, WeightFormat::kBinary).state};
  Solver solver(solver_of(text + " random_seed: 7 display: 1 snapshot: 1 snapshot_prefix: \"" +
                          prefix + "\""),
                *device, options);
  solver.solve();
  Outcome outcome;
  outcome.iteration = solver.iteration();
  outcome.params = all_params(solver.net());
  for (const TrainingProgress& display : recorder.displays) {
    if (display.rate) outcome.rates[display.iteration] = *display.rate;
  }
  for (const TestScores& test : recorder.tests) {
    for (const OutputValue& output : test.outputs) {
      outcome.tests[test.iteration].push_back(output.values);
    }
  }
  for (const auto& entry : boost::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".solverstate") continue;
    caffe::SolverState state = read_solver_state(entry.path().string());
    state.clear_learned_net();
    outcome.states[entry.path().filename().string()] = state.SerializeAsString();
  }
  return outcome;
}

/// Resumes a copy of the snapshots up to each iteration, the best one among them as it may be
/// newer.
void expect_exact(const std::string& text, int iterations) {
  SCOPED_TRACE(text);
  const Scratch scratch;
  boost::filesystem::create_directory(scratch.path("whole"));
  const Outcome whole = train(scratch.path("whole"), text, 0);
  ASSERT_EQ(whole.iteration, iterations);
  for (int at = 1; at <= iterations; ++at) {
    SCOPED_TRACE(at);
    const std::string folder = scratch.path("at" + std::to_string(at));
    boost::filesystem::create_directory(folder);
    for (const auto& entry : boost::filesystem::directory_iterator(scratch.path("whole"))) {
      boost::filesystem::copy_file(entry.path(), folder / entry.path().filename());
    }
    const Outcome resumed = train(folder, text, at);
    EXPECT_EQ(resumed.iteration, whole.iteration);
    EXPECT_EQ(resumed.params, whole.params);
    for (const auto& [iteration, rate] : resumed.rates) EXPECT_EQ(rate, whole.rates.at(iteration));
    for (const auto& [iteration, scores] : resumed.tests) {
      EXPECT_EQ(scores, whole.tests.at(iteration)) << iteration;
    }
    EXPECT_EQ(resumed.states, whole.states);
  }
}

class ControlResumeTest : public ::testing::Test {
 protected:
  std::string classified(const std::string& text) {
    return "net_param { " + classifier(make_rows(scratch_)) + " } base_lr: 0.2 " + text;
  }
  Scratch scratch_;
};

TEST_F(ControlResumeTest, Plateau) {
  const std::string text = classified(
      "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2 plateau_winsize: 3 average_loss: 3 "
      "max_iter: 12 momentum: 0.9");
  expect_exact(text, 12);
  // The test would be empty without a drop.
  boost::filesystem::create_directory(scratch_.path("x"));
  const Outcome run = train(scratch_.path("x"), text, 0);
  EXPECT_LT(run.rates.at(11), run.rates.at(0));
}

TEST_F(ControlResumeTest, WarmUp) {
  expect_exact(classified("lr_policy: \"multistep\" gamma: 0.5 stepvalue: 2 stepvalue: 3 "
                          "warmup_iter: 5 min_lr: 0.1 max_iter: 9"),
               9);
}

TEST_F(ControlResumeTest, Epochs) {
  expect_exact(classified("lr_policy: \"poly\" power: 1 max_epochs: 1.5 test_epochs: 0.5 "
                          "snapshot_best: \"loss\""),
               9);
}

TEST_F(ControlResumeTest, BestAndEarlyStop) {
  const std::string text = classified(
      "lr_policy: \"fixed\" max_iter: 60 test_iter: 5 test_interval: 2 "
      "snapshot_best: \"accuracy\" early_stop_tests: 4");
  boost::filesystem::create_directory(scratch_.path("x"));
  const int length = train(scratch_.path("x"), text, 0).iteration;
  EXPECT_GT(length, 8);
  EXPECT_LT(length, 60);
  expect_exact(text, length);
}

TEST_F(ControlResumeTest, RandomNumbersOfATestNet) {
  expect_exact(R"(net_param {
      layer { name: "d" type: "DummyData" top: "x" top: "y"
              dummy_data_param { shape { dim: 3 dim: 2 } shape { dim: 3 dim: 1 }
                                 data_filler { type: "uniform" } data_filler { type: "uniform" } } }
      layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
              inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
      layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" } }
      base_lr: 0.1 lr_policy: "fixed" max_iter: 7 test_iter: 2 test_iter: 3 test_interval: 2)",
               7);
}

}  // namespace
}  // namespace crema
