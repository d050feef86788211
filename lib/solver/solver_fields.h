// Checks of a solver's fields, with the line of the field in front.
#pragma once

#include <string>

#include "base/error.h"
#include "caffe.pb.h"
#include "proto/positions.h"

namespace crema {

/// Throws a user error with the position of `field` (or of the solver) unless `ok`.
template <class... Args>
void require_field(const caffe::SolverParameter& solver, const std::string& field, bool ok,
                   fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) fail_at(position_of(solver, field), format, std::forward<Args>(args)...);
}

}  // namespace crema
