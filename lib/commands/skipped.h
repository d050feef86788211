// What --skip_bad_records left out, at the end of a run.
#pragma once

#include <string>

#include "net/net.h"

namespace crema {

/// For each data layer that left records out, a warning: how often (a record counts anew in every
/// epoch), and what was wrong with the first ones. `where` stands in front of it.
void log_skipped(const Net& net, const std::string& where = "");

}  // namespace crema
