#include "report/training_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../base/log_lines.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::LogLines;

TrainingProgress progress() {
  TrainingProgress p;
  p.iteration = 100;
  p.loss = 0.123456789f;
  p.rate = 0.01f;
  p.outputs = {{"accuracy", {0.5f, 0.25f}, 0}, {"loss", {1.5f}, 2}};
  p.iterations = 50;
  p.seconds = 4;
  return p;
}

// Scripts for Caffe's logs and DIGITS look for these lines with regular expressions.
TEST(TrainingLogTest, DisplaysInCaffesWords) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  log.on_display(progress());
  EXPECT_THAT(sink.lines, ElementsAre("Iteration 100 (12.5 iter/s, 4s/50 iters), loss = 0.123457",
                                      "    Train net output #0: accuracy = 0.5",
                                      "    Train net output #1: accuracy = 0.25",
                                      "    Train net output #2: loss = 1.5 (* 2 = 3 loss)",
                                      "Iteration 100, lr = 0.01"));
}

TEST(TrainingLogTest, WaitingForDataIsToldWhenItCosts) {
  TrainingLog log(50, 0, 1000);
  TrainingProgress waiting = progress();
  for (const auto& [seconds, share] : {std::pair{0.3, 0}, {0.5, 12}, {3.0, 75}}) {
    const LogLines sink;
    waiting.seconds_waiting = seconds;
    log.on_display(waiting);
    EXPECT_EQ(sink.lines[4], share == 0
                                 ? "Iteration 100, lr = 0.01"
                                 : fmt::format("    Waiting for data: {} % of the time", share));
  }
  // A moment is no reason, whatever its share.
  const LogLines sink;
  waiting.seconds = 0.09;
  waiting.seconds_waiting = 0.08;
  log.on_display(waiting);
  EXPECT_EQ(sink.lines.size(), 5u);
}

TEST(TrainingLogTest, TheLastDisplayHasNoRate) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  TrainingProgress last = progress();
  last.rate.reset();
  last.outputs.resize(1);
  log.on_display(last);
  EXPECT_THAT(sink.lines, ElementsAre("Iteration 100, loss = 0.123457",
                                      "    Train net output #0: accuracy = 0.5",
                                      "    Train net output #1: accuracy = 0.25"));
}

TEST(TrainingLogTest, TheFirstDisplayMayHaveTakenNoTime) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  TrainingProgress first = progress();
  first.iteration = first.iterations = 0;
  first.seconds = 0;
  log.on_display(first);
  EXPECT_EQ(sink.lines[0], "Iteration 0 (0 iter/s, 0s/50 iters), loss = 0.123457");
}

TEST(TrainingLogTest, TestsInCaffesWords) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  log.on_test_start(500, 1);
  log.on_test({500, 1, 0.75f, {{"accuracy", {0.9f}, 0}, {"loss", {0.75f}, 1}}});
  log.on_test({500, 1, std::nullopt, {}});
  EXPECT_THAT(sink.lines, ElementsAre("Iteration 500, Testing net (#1)", "Test loss: 0.75",
                                      "    Test net output #0: accuracy = 0.9",
                                      "    Test net output #1: loss = 0.75 (* 1 = 0.75 loss)"));
}

TEST(TrainingLogTest, SnapshotsInCaffesWords) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  log.on_snapshot("a_iter_5.caffemodel", "a_iter_5.solverstate");
  log.on_snapshot("a_iter_5.caffemodel.h5", "a_iter_5.solverstate.h5");
  EXPECT_THAT(sink.lines,
              ElementsAre("Snapshotting to binary proto file a_iter_5.caffemodel",
                          "Snapshotting solver state to binary proto file a_iter_5.solverstate",
                          "Snapshotting to HDF5 file a_iter_5.caffemodel.h5",
                          "Snapshotting solver state to HDF5 file a_iter_5.solverstate.h5"));
}

TEST(TrainingLogTest, IterationsAreSilent) {
  TrainingLog log(50, 0, 1000);
  const LogLines sink;
  log.on_iteration(1);
  EXPECT_TRUE(sink.lines.empty());
}

TEST(ScoreTextTest, HasSixSignificantDigits) {
  EXPECT_EQ(score_text("a", 0.1f, 0), "a = 0.1");
  EXPECT_EQ(score_text("a", 1234567.0f, 0), "a = 1.23457e+06");
  EXPECT_EQ(score_text("a", 2, 0.5f), "a = 2 (* 0.5 = 1 loss)");
  EXPECT_EQ(score_text("a", -0.25f, -1), "a = -0.25 (* -1 = 0.25 loss)");
}

}  // namespace
}  // namespace crema
