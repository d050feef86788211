#include "base/tool.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "../proto/scratch.h"
#include "base/files.h"

// Flags count as a tool's own by the file that defines them.
#line 1 "tools/sample.cpp"
DEFINE_string(sample_model, "", "a file");
DEFINE_int32(sample_count, 3, "a number");
DEFINE_bool(sample_quick, false, "a switch");
#line 22 "tool_test.cpp"

namespace crema {
namespace {

const ToolInfo kInfo{
    .name = "sample",
    .synopsis = "sample [--sample_count N] NAME",
    .summary = "Does nothing.",
    .details = "It is for tests.",
    .examples = "sample a",
    .min_arguments = 0,
    .max_arguments = 1,
};

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// Runs the tool in a process of its own: gflags ends programs.
Outcome run_sample(const std::vector<std::string>& arguments,
                   const std::function<int(const std::vector<std::string>&)>& body) {
  const testing::Scratch scratch;
  const std::string out = scratch.path("out"), err = scratch.path("err");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(out.c_str(), "w", stdout) == nullptr) ::_exit(99);
    if (std::freopen(err.c_str(), "w", stderr) == nullptr) ::_exit(99);
    std::vector<std::string> all = {"sample"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int code = run_tool(static_cast<int>(all.size()), argv.data(), kInfo, body);
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

int succeed(const std::vector<std::string>&) { return 0; }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RunToolTest, PassesArgumentsAndTheExitCode) {
  const Outcome outcome =
      run_sample({"--sample_count=5", "name", "-sample_quick"}, [](const auto& arguments) {
        const bool right = arguments == std::vector<std::string>{"name"} &&
                           FLAGS_sample_count == 5 && FLAGS_sample_quick;
        return right ? 42 : 43;
      });
  EXPECT_EQ(outcome.code, 42) << outcome.err;
}

TEST(RunToolTest, HelpShowsTheToolsOwnFlagsAlone) {
  for (const char* form : {"--help", "-help", "-h"}) {
    const Outcome outcome = run_sample({form}, succeed);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.out, "Does nothing.")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "--sample_count <int32>")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "(default 3)")) << outcome.out;
    EXPECT_FALSE(contains(outcome.out, "logtostderr")) << outcome.out;
  }
}

TEST(RunToolTest, AnUnknownFlagGetsTheNearestName) {
  for (const char* form : {"--sample_modle=x", "-sample_modle", "--sample-modle"}) {
    const Outcome outcome = run_sample({form}, succeed);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "did you mean \"sample_model\"?")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "usage: sample")) << outcome.err;
  }
}

TEST(RunToolTest, ABadValueIsAWrongCommandLine) {
  const Outcome outcome = run_sample({"--sample_count=many"}, succeed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "many")) << outcome.err;
}

TEST(RunToolTest, AMissingValueIsAWrongCommandLine) {
  EXPECT_EQ(run_sample({"--sample_count"}, succeed).code, 2);
}

TEST(RunToolTest, SwitchesMayBeNegated) {
  EXPECT_EQ(run_sample({"--nosample_quick"}, succeed).code, 0);
}

TEST(RunToolTest, TooManyArgumentsAreAWrongCommandLine) {
  const Outcome outcome = run_sample({"a", "b"}, succeed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "unexpected argument \"b\"")) << outcome.err;
}

TEST(RunToolTest, NegativeNumbersAreNoFlags) {
  EXPECT_EQ(
      run_sample({"--sample_count", "-1"}, [](const auto&) { return FLAGS_sample_count + 5; }).code,
      4);
}

TEST(RunToolTest, ErrorsAreOneLineAndExitWithOne) {
  const Outcome outcome = run_sample({}, [](const auto&) -> int { fail("it is {}", "broken"); });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "sample: error: it is broken\n");
}

TEST(RunToolTest, OtherExceptionsExitWithOneToo) {
  EXPECT_EQ(run_sample({}, [](const auto&) -> int { throw std::bad_alloc(); }).err,
            "sample: error: out of memory\n");
  EXPECT_EQ(run_sample({}, [](const auto&) -> int { throw std::runtime_error("odd"); }).err,
            "sample: error: odd\n");
}

TEST(RunToolTest, UsageErrorsFromTheBodyExitWithTwo) {
  const Outcome outcome =
      run_sample({}, [](const auto&) -> int { throw UsageError("give --sample_model"); });
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err.rfind("sample: give --sample_model\n", 0), 0u) << outcome.err;
}

TEST(RunToolTest, AReaderThatGoesAwayDoesNotKill) {
  EXPECT_EQ(run_sample({},
                       [](const auto&) {
                         int ends[2];
                         if (::pipe(ends) != 0) return 98;
                         ::close(ends[0]);
                         return ::write(ends[1], "x", 1) < 0 ? 7 : 8;
                       })
                .code,
            7);
}

}  // namespace
}  // namespace crema
