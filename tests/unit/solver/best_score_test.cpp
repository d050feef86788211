// snapshot_best and early_stop_tests.
#include "solver/best_score.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../base/log_lines.h"
#include "proto/solver_state.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The score is 9 - (w - 3)^2 / 2 in effect: w moves from 1 towards 3 and, at a rate above 2, away
/// from it. The test net has the outputs "loss", "pair" (two values) and "ip".
const std::string kNet = R"(net_param {
  layer { name: "d" type: "DummyData" top: "x" top: "y"
          dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 }
                             data_filler { value: 1 } data_filler { value: 3 } } }
  layer { name: "e" type: "DummyData" top: "pair" include { phase: TEST }
          dummy_data_param { shape { dim: 2 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
          inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
  layer { name: "w" type: "Split" bottom: "ip" top: "weight" include { phase: TEST } } }
  lr_policy: "fixed" random_seed: 1 test_iter: 1 test_interval: 1 )";

class BestTest : public ::testing::Test {
 protected:
  std::unique_ptr<Solver> solver(const std::string& text, const std::string& snapshot = "") {
    SolverOptions options;
    if (!snapshot.empty()) options.snapshots = {snapshot};
    options.listeners = {&recorder_};
    return std::make_unique<Solver>(
        solver_of(kNet + text + " snapshot_prefix: \"" + scratch_.path("s") + "\""), *device_,
        options);
  }
  std::string error(const std::string& text) {
    return solver_error([&] { solver("base_lr: 1 max_iter: 1 " + text); });
  }
  float best_weight() {
    return read_weights(scratch_.path("s_best.caffemodel")).find("ip")->blobs[0].data[0];
  }

  Scratch scratch_;
  Recorder recorder_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(BestTest, ALossIsBestWhenLowest) {
  // Steps of 0.5: w is 1, 2, 2.5, …; each test is better than the one before.
  const auto run = solver("base_lr: 0.5 max_iter: 3 snapshot_best: \"loss\"");
  run->solve();
  EXPECT_FLOAT_EQ(best_weight(), 2.75f);
  EXPECT_EQ(read_solver_state(scratch_.path("s_best.solverstate")).iter(), 3);
  EXPECT_EQ(recorder_.snapshots.size(), 5u);  // four tests and the end
}

TEST_F(BestTest, TheBestIsKeptWhenItGetsWorse) {
  // At a rate of 3 every step doubles the distance from 3: the test before training is the best.
  const auto run = solver("base_lr: 3 max_iter: 3 snapshot_best: \"loss\"");
  run->solve();
  EXPECT_FLOAT_EQ(best_weight(), 1);
  EXPECT_EQ(read_solver_state(scratch_.path("s_best.solverstate")).learned_net(),
            scratch_.path("s_best.caffemodel"));
}

TEST_F(BestTest, OtherOutputsAreBestWhenHighestAndTheModeOverrules) {
  // "weight" grows from 1 to 3.
  solver("base_lr: 0.5 max_iter: 3 snapshot_best: \"weight\"")->solve();
  EXPECT_FLOAT_EQ(best_weight(), 2.75f);
  solver("base_lr: 0.5 max_iter: 3 snapshot_best: \"weight\" snapshot_best_mode: MIN")->solve();
  EXPECT_FLOAT_EQ(best_weight(), 1);
  solver("base_lr: 0.5 max_iter: 3 snapshot_best: \"loss\" snapshot_best_mode: MAX")->solve();
  EXPECT_FLOAT_EQ(best_weight(), 1);
}

TEST_F(BestTest, EarlyStopEndsTheRunWithASnapshot) {
  const LogLines log;
  const auto run =
      solver("base_lr: 2 max_iter: 50 snapshot_best: \"loss\" early_stop_tests: 4 display: 1");
  // A rate of 2 jumps between 1 and 5: the loss stays 2.
  EXPECT_TRUE(run->solve());
  EXPECT_EQ(run->iteration(), 4);
  EXPECT_THAT(recorder_.snapshots, ElementsAre("s_best.solverstate", "s_iter_4.solverstate"));
  EXPECT_THAT(log.lines, Contains("Iteration 4, early stop: no better score in the last 4 tests; "
                                  "the best was loss = 2 at iteration 0"));
  EXPECT_EQ(log.lines.back(), "Optimization Done.");
  // Who goes on from there is told so again.
  const auto again = solver("base_lr: 2 max_iter: 50 snapshot_best: \"loss\" early_stop_tests: 4",
                            scratch_.path("s_iter_4.solverstate"));
  EXPECT_TRUE(again->solve());
  EXPECT_EQ(again->iteration(), 4);
}

TEST_F(BestTest, ASnapshotThatWasJustMadeIsNotMadeAgainByEarlyStop) {
  solver("base_lr: 2 max_iter: 50 snapshot: 2 snapshot_best: \"loss\" early_stop_tests: 4")
      ->solve();
  EXPECT_THAT(recorder_.snapshots,
              ElementsAre("s_best.solverstate", "s_iter_2.solverstate", "s_iter_4.solverstate"));
}

TEST_F(BestTest, GoingOnFromTheBestIsExact) {
  const std::string text = "max_iter: 6 momentum: 0.9 base_lr: 0.3 snapshot_best: \"loss\"";
  const auto whole = solver(text);
  whole->solve();
  const auto resumed = solver(text, scratch_.path("s_best.solverstate"));
  resumed->solve();
  EXPECT_EQ(resumed->net().read_params("ip"), whole->net().read_params("ip"));
}

TEST_F(BestTest, NanIsNeverBest) {
  const auto run = solver("base_lr: 0.5 max_iter: 3 snapshot_best: \"loss\" early_stop_tests: 2");
  BestScore best(solver_of("snapshot_best: \"loss\" early_stop_tests: 2"), &run->test_net(0));
  const auto note = [&](float score) { return best.note(1, {{"loss", {score}, 1}}); };
  EXPECT_FALSE(note(std::nanf("")));
  EXPECT_TRUE(note(5));
  EXPECT_FALSE(note(5));
  EXPECT_FALSE(best.gave_up());
  EXPECT_FALSE(note(std::nanf("")));
  EXPECT_TRUE(best.gave_up());
  EXPECT_TRUE(note(4));
  EXPECT_FALSE(best.gave_up());
}

TEST_F(BestTest, ErrorsNameTheField) {
  EXPECT_EQ(error("snapshot_best: \"los\""),
            "test net 0 has no output \"los\"; did you mean \"loss\"? Its outputs: loss, pair, "
            "weight");
  EXPECT_EQ(error("snapshot_best: \"acc\""),
            "test net 0 has no output \"acc\". Its outputs: loss, pair, weight");
  EXPECT_EQ(error("snapshot_best: \"pair\""),
            "output \"pair\" of test net 0 has 2 values; only a single number can be the best");
  EXPECT_EQ(error("early_stop_tests: 3"),
            "early_stop_tests needs snapshot_best, the output of test net 0 that has to improve");
  EXPECT_EQ(error("early_stop_tests: -3 snapshot_best: \"loss\""),
            "early_stop_tests is -3; it cannot be negative");
  EXPECT_EQ(error("snapshot_best_mode: MIN"), "snapshot_best_mode is given without snapshot_best");
  EXPECT_EQ(error("snapshot_keep_last: -1"), "snapshot_keep_last is -1; it cannot be negative");
  EXPECT_EQ(solver_error([&] { BestScore(solver_of("snapshot_best: \"loss\""), nullptr); }),
            "snapshot_best names an output of test net 0, but there is no test net");
}

}  // namespace
}  // namespace crema
