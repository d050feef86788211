// Fields of forks in prototxt, before it is parsed.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "proto/fork_fields.h"
#include "proto/text_map.h"

namespace crema {

/// The text with the fields of forks that have no effect on results blanked out and those that are
/// only other names written in Crema's; lines stay where they are. What is refused or wrong is left
/// for the parser to complain of. A mistake in the syntax ends the search there.
std::string treat_fork_fields(const TextMap& map, const google::protobuf::Descriptor& root,
                              ForkUse* use);

}  // namespace crema
