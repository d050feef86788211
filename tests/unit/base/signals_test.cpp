#include "base/signals.h"

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
  EXPECT_EQ(error_of([] { parse_signal_action("halt", "sigint_effect"); }),
            "--sigint_effect is \"halt\"; it can be stop, snapshot or none");
}

TEST(SignalWatchTest, ReportsEachSignalOnce) {
  SignalWatch watch(SignalAction::kStop, SignalAction::kSnapshot);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
  std::raise(SIGHUP);
  EXPECT_EQ(watch.poll(), SignalAction::kSnapshot);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
  std::raise(SIGINT);
  EXPECT_EQ(watch.poll(), SignalAction::kStop);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
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
    EXPECT_EQ(watch.poll(), SignalAction::kNone);
  }
}

TEST(SignalWatchTest, NoneIgnores) {
  SignalWatch watch(SignalAction::kNone, SignalAction::kNone);
  std::raise(SIGINT);
  std::raise(SIGHUP);
  EXPECT_EQ(watch.poll(), SignalAction::kNone);
  // An ignored signal does not hide another's effect.
  SignalWatch other(SignalAction::kNone, SignalAction::kSnapshot);
  std::raise(SIGINT);
  std::raise(SIGHUP);
  EXPECT_EQ(other.poll(), SignalAction::kSnapshot);
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

TEST(SignalWatchTest, ASecondInterruptEndsTheProgram) {
  for (const int second : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      SignalWatch watch(SignalAction::kStop, SignalAction::kSnapshot);
      std::raise(SIGINT);
      std::raise(second);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

TEST(SignalWatchTest, AnAnsweredInterruptStartsAnew) {
  const pid_t child = ::fork();
  if (child == 0) {
    SignalWatch watch(SignalAction::kStop, SignalAction::kSnapshot);
    std::raise(SIGINT);
    watch.poll();
    std::raise(SIGINT);
    ::_exit(watch.poll() == SignalAction::kStop ? 17 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 17);
}

}  // namespace
}  // namespace crema
