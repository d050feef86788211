// Fields of forks in binary messages: what the parser set aside as unknown.
#pragma once

#include <string>

#include "caffe.pb.h"
#include "proto/fork_fields.h"

namespace crema {

/// Goes through the unknown fields of a parsed net by the numbers of a dialect: those without
/// effect are removed, those that Crema has are given their names, and one that changes results is
/// a user error. Numbers that no fork has stay as they are. `use` receives what turned up.
/// Returns the dialect.
Dialect treat_fork_fields(caffe::NetParameter* net, Dialect given, const std::string& file,
                          ForkUse* use);

}  // namespace crema
