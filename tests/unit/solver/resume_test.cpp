// A run that was interrupted and resumed is bit for bit the run that was not.
#include <gmock/gmock.h>

#include <csignal>
#include <map>

#include "proto/solver_state.h"
#include "solver/snapshot.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

constexpr int kIterations = 9;

struct Story {
  std::vector<std::vector<float>> params;
  std::map<int, float> losses, rates;       // by iteration, as displayed
  std::map<int, std::vector<float>> tests;  // scores by iteration
};

Story run(const std::string& rows, const std::string& prefix, const std::string& text,
          const std::string& snapshot, int iterations = kIterations) {
  const auto device = make_cpu_device(2);
  const caffe::SolverParameter param = solver_of(
      "net_param { " + classifier(rows) + " } base_lr: 0.05 weight_decay: 0.01 " +
      "lr_policy: \"multistep\" gamma: 0.5 stepvalue: 3 stepvalue: 5 snapshot: 1 " +
      "display: 1 average_loss: 4 iter_size: 2 test_iter: 2 test_interval: 2 " +
      "max_iter: " + std::to_string(kIterations) + " snapshot_prefix: \"" + prefix + "\" " + text);
  SolverOptions options;
  if (!snapshot.empty()) options.snapshots = {snapshot};
  Recorder recorder;
  options.listeners = {&recorder};
  Solver solver(param, *device, options);
  if (iterations == kIterations) {
    solver.solve();
  } else {
    solver.step(iterations);
  }
  Story story;
  story.params = all_params(solver.net());
  for (const TrainingProgress& display : recorder.displays) {
    story.losses[display.iteration] = display.loss;
    if (display.rate) story.rates[display.iteration] = *display.rate;
  }
  for (const TestScores& test : recorder.tests) {
    for (const OutputValue& output : test.outputs) {
      for (const float value : output.values) story.tests[test.iteration].push_back(value);
    }
  }
  return story;
}

void expect_resumes_exactly(const std::string& text, WeightFormat format) {
  SCOPED_TRACE(text);
  const Scratch scratch;
  const std::string rows = make_rows(scratch), prefix = scratch.path("whole");
  const Story whole = run(rows, prefix, text, "");
  ASSERT_EQ(whole.losses.size(), kIterations + 1u);
  for (const int at : {1, 2, 4, 6, kIterations - 1}) {
    SCOPED_TRACE(at);
    const Story resumed =
        run(rows, scratch.path("resumed"), text, snapshot_files(prefix, at, format).state);
    EXPECT_EQ(resumed.params, whole.params);
    for (const auto& [iteration, loss] : resumed.losses) {
      EXPECT_EQ(loss, whole.losses.at(iteration)) << iteration;
    }
    EXPECT_EQ(resumed.losses.begin()->first, at);
    for (const auto& [iteration, rate] : resumed.rates) {
      EXPECT_EQ(rate, whole.rates.at(iteration)) << iteration;
    }
    for (const auto& [iteration, scores] : resumed.tests) {
      EXPECT_EQ(scores, whole.tests.at(iteration)) << iteration;
    }
  }
}

TEST(ResumeTest, SgdGoesOnAsIfNothingHadHappened) {
  expect_resumes_exactly("random_seed: 5 momentum: 0.9", WeightFormat::kBinary);
}

TEST(ResumeTest, AdamGoesOnAsIfNothingHadHappened) {
  expect_resumes_exactly("random_seed: 5 type: \"Adam\" momentum: 0.9", WeightFormat::kBinary);
}

TEST(ResumeTest, Hdf5SnapshotsDoAsWell) {
  expect_resumes_exactly("random_seed: 5 momentum: 0.9 snapshot_format: HDF5", WeightFormat::kHdf5);
}

TEST(ResumeTest, TestsOfWholeSourcesAreTheSameToo) {
  // 23 rows in batches of 5: without the start of an epoch the order of the short batches would
  // differ.
  expect_resumes_exactly("random_seed: 5 test_all: true", WeightFormat::kBinary);
}

TEST(ResumeTest, WithoutRandomSeedTheStatesIsTaken) {
  expect_resumes_exactly("momentum: 0.9", WeightFormat::kBinary);
}

TEST(ResumeTest, ResumingFromAResumedRunIsExactToo) {
  const Scratch scratch;
  const std::string rows = make_rows(scratch), text = "random_seed: 5 momentum: 0.9";
  const Story whole = run(rows, scratch.path("whole"), text, "");
  std::string state;
  Story last;
  for (int i = 1; i <= kIterations; ++i) {
    const std::string prefix = scratch.path("part" + std::to_string(i));
    last = run(rows, prefix, text, state, 1);
    state = snapshot_files(prefix, i, WeightFormat::kBinary).state;
  }
  EXPECT_EQ(last.params, whole.params);
}

void expect_stopped_test_is_done_again(const std::string& which) {
  SCOPED_TRACE(which);
  // Signals are answered between test batches; what was tested by then must not be lost for the
  // test that is due after resuming.
  const Scratch scratch;
  const std::string rows = make_rows(scratch);
  const std::string text = "net_param { " + classifier(rows) +
                           " } base_lr: 0.05 lr_policy: \"fixed\" random_seed: 1 max_iter: 5 " +
                           which + " test_interval: 2 snapshot_prefix: \"" + scratch.path("s") +
                           "\"";
  const auto scores = [&](const std::string& snapshot, bool stop) {
    const auto device = make_cpu_device(1);
    SignalWatch signals(SignalAction::kStop, SignalAction::kStop);
    Recorder recorder;
    SolverOptions options;
    if (!snapshot.empty()) options.snapshots = {snapshot};
    options.signals = &signals;
    options.listeners = {&recorder};
    Solver solver(solver_of(text), *device, options);
    if (stop) {
      recorder.at_test = [&](int iteration) {
        // One batch is read as if the signal had come after it.
        if (iteration == 2) {
          solver.test_net(0).forward();
          std::raise(SIGHUP);
        }
      };
    }
    solver.solve();
    std::vector<std::pair<int, float>> losses;
    for (const TestScores& test : recorder.tests) {
      losses.emplace_back(test.iteration, test.outputs[1].values[0]);
    }
    return losses;
  };
  const auto whole = scores("", false);
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(scores("", true).size(), 1u);
  const auto resumed = scores(scratch.path("s_iter_2.solverstate"), false);
  ASSERT_EQ(resumed.size(), 2u);
  EXPECT_EQ(resumed[0], whole[1]);
  EXPECT_EQ(resumed[1], whole[2]);
}

TEST(ResumeTest, AStoppedTestIsDoneAgainFromTheStart) {
  expect_stopped_test_is_done_again("test_iter: 3");
  expect_stopped_test_is_done_again("test_all: true");
}

TEST(ResumeTest, WhatDoesNotFitIsAnError) {
  const Scratch scratch;
  const std::string rows = make_rows(scratch), prefix = scratch.path("a");
  run(rows, prefix, "random_seed: 1 momentum: 0.9", "", 1);
  const std::string state = prefix + "_iter_1.solverstate";
  const auto as = [&](const std::string& type) {
    return error_of(
        [&] { run(rows, prefix, "random_seed: 1 momentum: 0.9 type: " + type, state); });
  };
  for (const char* type : {"Adam", "AdaDelta", "Nesterov"}) {
    EXPECT_EQ(as(fmt::format("\"{}\"", type)),
              fmt::format("{}: the run that wrote it had solver type SGD, this one has {}, whose "
                          "history has another meaning; to go on with another type, start from the "
                          "weights (--weights {}_iter_1.caffemodel)",
                          state, type, prefix));
  }
  // Caffe's states say nothing of it; the number of blobs may.
  caffe::SolverState caffes = read_solver_state(state);
  caffes.clear_crema_training();
  write_solver_state(caffes, state, WeightFormat::kBinary);
  EXPECT_EQ(as("\"Adam\""),
            state + ": it holds 4 history blobs; solver type Adam and this net need 8");
  EXPECT_EQ(as("\"Nesterov\""), "");
  boost::filesystem::remove(prefix + "_iter_1.caffemodel");
  EXPECT_NE(error_of([&] {
              run(rows, prefix, "random_seed: 1 momentum: 0.9", state);
            }).find("are not there"),
            std::string::npos);
}

TEST(ResumeTest, AStateOfCaffesGoesOnWithoutItsPositions) {
  const Scratch scratch;
  const std::string rows = make_rows(scratch), prefix = scratch.path("a");
  const std::string text = "random_seed: 1 momentum: 0.9";
  run(rows, prefix, text, "", 3);
  const std::string file = prefix + "_iter_3.solverstate";
  caffe::SolverState state = read_solver_state(file);
  ASSERT_EQ(state.iter(), 3);
  EXPECT_EQ(state.learned_net(), prefix + "_iter_3.caffemodel");
  EXPECT_EQ(state.crema_training().seed(), 1u);
  EXPECT_EQ(state.crema_training().forward_passes(), 6u);
  state.clear_crema_training();
  write_solver_state(state, file, WeightFormat::kBinary);
  const Story resumed = run(rows, scratch.path("b"), text, file);
  EXPECT_EQ(resumed.losses.begin()->first, 3);
}

}  // namespace
}  // namespace crema
