// Prototxt in and out.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "proto/fork_fields.h"
#include "proto/positions.h"

namespace crema {

/// Reads protobuf text format into `out` (cleared first) and fills the positions of nets, layers
/// and solvers. A byte order mark, CRLF line ends and a missing last newline are accepted. An error
/// is one line, `FILE:LINE:COLUMN: …`, with the layer it stands in and, where possible, what to
/// write instead. With `use`, the fields of forks are treated first (proto/fork_text.h).
void parse_text(const std::string& text, const std::string& file_name,
                google::protobuf::Message* out, ForkUse* use = nullptr);

/// The message as prototxt: without positions, UTF-8 as it is, numbers independent of the locale.
std::string print_text(const google::protobuf::Message& message);

}  // namespace crema
