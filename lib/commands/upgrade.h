// The tools `upgrade-net` and `upgrade-solver` without their flags.
#pragma once

#include <string>

#include "proto/fork_fields.h"

namespace crema {

struct UpgradeOptions {
  std::string in;
  std::string out;  ///< may be `in`, which is left alone when it is up to date
  /// Binary output; else only for names that end in .caffemodel or .binaryproto.
  bool binary = false;
  Dialect dialect = Dialect::kDetect;
};

/// Reads a net (text or binary, with weights or without) in whatever form, writes it in today's and
/// prints what changed.
int upgrade_net_file(const UpgradeOptions& options);

/// The same for a solver, which is text.
int upgrade_solver_file(const UpgradeOptions& options);

}  // namespace crema
