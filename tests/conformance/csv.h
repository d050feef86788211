// The corpus' tables of losses and scores.
#pragma once

#include <string>
#include <vector>

namespace crema::conformance {

/// The rows below the head line, all with as many fields as it has; fields may be empty.
std::vector<std::vector<std::string>> read_csv(const std::string& file);

}  // namespace crema::conformance
