// Running a case so that whatever happens in it, a crash included, stays there.
#pragma once

#include <functional>
#include <string>

#include "report.h"

namespace crema::conformance {

enum class Outcome { kPass, kFail, kUnsupported };

struct Result {
  Outcome outcome = Outcome::kFail;
  double largest_error = 0;
  /// Why it failed or is unsupported; for a passed refusal, the message.
  std::string text;
  double seconds = 0;
};

/// Runs `body` in a process of its own and tells what came of it.
Result run_isolated(const std::function<void(Report*)>& body);

}  // namespace crema::conformance
