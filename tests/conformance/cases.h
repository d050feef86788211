// The kinds of cases, and how each is run. All run with the case's folder (or a copy of it) as
// working directory; an Error that leaves them is the case's outcome.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "report.h"

namespace crema::conformance {

struct Case {
  enum class Kind { kLayer, kData, kTool, kWeights, kSolver, kNet, kLenetFashion };

  Kind kind;
  std::string name;  ///< "layers/conv_basic"
  std::string path;  ///< absolute; a prototxt for layers and nets, else a folder
};

/// What the path itself is a case of, told by what is in it.
std::optional<Case> classify(const std::string& path);
/// The path itself, or all cases below it, in order of their names.
std::vector<Case> find_cases(const std::string& path);

void run_layer_case(const std::string& prototxt, Report* report);
void run_data_case(const std::string& folder, Report* report);
void run_tool_case(const std::string& folder, Report* report);
void run_weights_case(const std::string& folder, Report* report);
void run_solver_case(const std::string& folder, Report* report);
void run_net_case(const std::string& prototxt, Report* report);
/// `data` holds fashion_train_lmdb and fashion_test_lmdb.
void run_lenet_fashion_case(const std::string& folder, const std::string& data, Report* report);

/// Whether the error says that Crema lacks something, rather than that the input is wrong.
bool is_unsupported(const Error& error);

/// For cases to be refused: `body` must throw a user error. One that says "not supported" does not
/// count; it is thrown on, as is an internal error.
void expect_refusal(const std::function<void()>& body, Report* report);

}  // namespace crema::conformance
