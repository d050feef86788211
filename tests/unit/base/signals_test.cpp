#include "base/signals.h"

#include "base/tool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "../proto/scratch.h"

namespace crema {
namespace {

using testing::error_of;

TEST(SignalActionTest, HasThreeNames) {
  EXPECT_EQ(parse_signal_action("stop", "f"), SignalAction::kStop);
  EXPECT_EQ(parse_signal_action("snapshot", "f"), SignalAction::kSnapshot);
  EXPECT_EQ(parse_signal_action("none", "f"), SignalAction::kNone);
  try {
    parse_signal_action("halt", "sigint_effect");
    FAIL() << "it was taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--sigint_effect is \"halt\"; it can be stop, snapshot or none");
  }
}

TEST(SignalWatchTest, ReportsASnapshotOnce) {
  SignalWatch watch(SignalAction::kSnapshot, SignalAction::kSnapshot);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
  for (const int signal : {SIGHUP, SIGINT}) {
    std::raise(signal);
    EXPECT_EQ(watch.poll(), SignalAction::kSnapshot);
    EXPECT_EQ(watch.poll(), SignalAction::kNone);
  }
}

TEST(SignalWatchTest, InterruptsAndTerminationsStop) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SignalWatch watch(SignalAction::kStop, SignalAction::kSnapshot);
    std::raise(signal);
    EXPECT_EQ(watch.poll(), SignalAction::kStop);
  }
  // Whatever an interrupt does: who sends SIGTERM wants an end.
  SignalWatch watch(SignalAction::kNone, SignalAction::kNone);
  std::raise(SIGTERM);
  EXPECT_EQ(watch.poll(), SignalAction::kStop);
}

TEST(SignalWatchTest, AStopOutweighsASnapshot) {
  for (const bool stop_by_interrupt : {true, false}) {
    SignalWatch watch(stop_by_interrupt ? SignalAction::kStop : SignalAction::kSnapshot,
                      stop_by_interrupt ? SignalAction::kSnapshot : SignalAction::kStop);
    std::raise(SIGINT);
    std::raise(SIGHUP);
    EXPECT_EQ(watch.poll(), SignalAction::kStop);
  }
}

TEST(SignalWatchTest, NoneIgnores) {
  SignalWatch watch(SignalAction::kNone, SignalAction::kNone);
  std::raise(SIGINT);
  std::raise(SIGINT);  // not even insisting
  std::raise(SIGHUP);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
}

TEST(SignalWatchTest, AnIgnoredSignalHidesNoOther) {
  SignalWatch watch(SignalAction::kNone, SignalAction::kSnapshot);
  std::raise(SIGINT);
  std::raise(SIGHUP);
  EXPECT_EQ(watch.poll(), SignalAction::kSnapshot);
}

int handled = 0;

TEST(SignalWatchTest, PutsTheFormerHandlersBack) {
  const auto before = std::signal(SIGHUP, [](int) { ++handled; });
  {
    SignalWatch watch(SignalAction::kStop, SignalAction::kSnapshot);
    std::raise(SIGHUP);
    EXPECT_EQ(handled, 0);
  }
  std::raise(SIGHUP);
  EXPECT_EQ(handled, 1);
  std::signal(SIGHUP, before);
}

/// What becomes of a process that does `body` under a watch: its wait status.
int status_of(SignalAction on_interrupt, void (*body)(SignalWatch&)) {
  const pid_t child = ::fork();
  if (child == 0) {
    SignalWatch watch(on_interrupt, SignalAction::kSnapshot);
    body(watch);
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

void expect_killed(int status, int signal) {
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), signal);
}

TEST(SignalWatchTest, ASecondStopEndsTheProgram) {
  expect_killed(status_of(SignalAction::kStop,
                          [](SignalWatch&) {
                            std::raise(SIGINT);
                            std::raise(SIGINT);
                          }),
                SIGINT);
  expect_killed(status_of(SignalAction::kStop,
                          [](SignalWatch&) {
                            std::raise(SIGTERM);
                            std::raise(SIGTERM);
                          }),
                SIGTERM);
}

TEST(SignalWatchTest, ASecondStopEndsASlowAnswerToTheFirst) {
  expect_killed(status_of(SignalAction::kStop,
                          [](SignalWatch& watch) {
                            std::raise(SIGINT);
                            watch.poll();
                            std::raise(SIGINT);
                          }),
                SIGINT);
}

TEST(SignalWatchTest, SnapshotsMayBeAskedForAgain) {
  const int status = status_of(SignalAction::kSnapshot, [](SignalWatch& watch) {
    for (int i = 0; i < 3; ++i) {
      std::raise(SIGINT);
      if (watch.poll() != SignalAction::kSnapshot) ::_exit(1);
    }
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace crema
