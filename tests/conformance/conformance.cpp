// conformance: runs the cases of tests/data/conformance and tells which agree with Caffe.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <regex>

#include "base/tool.h"
#include "cases.h"
#include "isolation.h"

DEFINE_string(cases, "", "A corpus, a folder of it, or a single case.");
DEFINE_string(filter, "", "Only cases whose name (layers/conv_basic) matches this regex.");
DEFINE_bool(lenet_fashion, false, "Also the long training run; needs --fashion_data.");
DEFINE_string(fashion_data, "", "Folder with fashion_train_lmdb and fashion_test_lmdb.");
DEFINE_bool(verbose, false,
            "Also the seconds of each case, the messages of refused nets, and what is logged.");

namespace crema::conformance {
namespace {

const ToolInfo kInfo{
    .name = "conformance",
    .synopsis =
        "conformance --cases FOLDER [--filter REGEX] [--lenet_fashion --fashion_data "
        "FOLDER] [--verbose]",
    .summary = "Compares Crema with the results that Caffe gave for a corpus of cases.",
    .details =
        "FOLDER is the corpus (tests/data/conformance), a folder of it, or a single case; --filter "
        "takes only cases whose name, such as layers/conv_basic, matches. One line a case: PASS, "
        "FAIL or UNSUPPORTED (what Crema says it does not support), the name, the largest error, "
        "and the reason. --lenet_fashion adds the training run of lenet-fashion/, for which "
        "--fashion_data names the folder of fashion_train_lmdb and fashion_test_lmdb. --verbose "
        "adds times, the messages of refused nets, and the log. Exits with 1 if a case failed.",
    .examples = "conformance --cases tests/data/conformance --filter 'layers/(conv|pool)'",
};

void run_case(const Case& test, Report* report) {
  switch (test.kind) {
    case Case::Kind::kLayer:
      return run_layer_case(test.path, report);
    case Case::Kind::kData:
      return run_data_case(test.path, report);
    case Case::Kind::kTool:
      return run_tool_case(test.path, report);
    case Case::Kind::kWeights:
      return run_weights_case(test.path, report);
    case Case::Kind::kSolver:
      return run_solver_case(test.path, report);
    case Case::Kind::kNet:
      return run_net_case(test.path, report);
    case Case::Kind::kLenetFashion:
      return run_lenet_fashion_case(test.path, FLAGS_fashion_data, report);
  }
}

std::regex filter_regex() {
  try {
    return std::regex(FLAGS_filter);
  } catch (const std::regex_error& error) {
    throw UsageError(
        fmt::format("--filter {} is no regular expression: {}", FLAGS_filter, error.what()));
  }
}

std::vector<Case> chosen_cases() {
  const std::regex filter = filter_regex();
  std::vector<Case> chosen;
  for (Case& found : find_cases(FLAGS_cases)) {
    if (found.kind == Case::Kind::kLenetFashion && !FLAGS_lenet_fashion) continue;
    if (std::regex_search(found.name, filter)) chosen.push_back(std::move(found));
  }
  require(!chosen.empty(), "there is no such case in {}", FLAGS_cases);
  return chosen;
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "PASS";
    case Outcome::kFail:
      return "FAIL";
    case Outcome::kUnsupported:
      return "UNSUPPORTED";
  }
  return "";
}

void print_result(const Case& test, const Result& result) {
  std::string line =
      fmt::format("{} {} {:.2g}", name_of(result.outcome), test.name, result.largest_error);
  if (FLAGS_verbose) line += fmt::format(" {:.2f}s", result.seconds);
  const bool tells = result.outcome != Outcome::kPass || FLAGS_verbose;
  if (tells && !result.text.empty()) line += " " + result.text;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int run(const std::vector<std::string>&) {
  if (FLAGS_cases.empty()) throw UsageError("--cases is missing");
  if (FLAGS_lenet_fashion && FLAGS_fashion_data.empty()) {
    throw UsageError("--lenet_fashion needs --fashion_data");
  }
  if (!FLAGS_verbose) FLAGS_minloglevel = google::GLOG_ERROR;
  int counts[3] = {0, 0, 0};
  for (const Case& test : chosen_cases()) {
    const Result result = run_isolated([&](Report* report) { run_case(test, report); });
    ++counts[static_cast<int>(result.outcome)];
    print_result(test, result);
  }
  const auto [passed, failed, unsupported] = counts;
  std::printf("%d passed, %d failed, %d unsupported\n", passed, failed, unsupported);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace crema::conformance

int main(int argc, char** argv) {
  return crema::run_tool(argc, argv, crema::conformance::kInfo, crema::conformance::run);
}
