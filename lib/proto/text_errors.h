// What protobuf's parser complains of, said so that a person can mend the file.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "base/error.h"
#include "proto/text_map.h"

namespace crema {

/// A complaint of the parser: line and column from 0, as it counts.
struct ParseComplaint {
  int line = 0;
  int column = 0;
  std::string message;
};

/// The error for a text that could not be read as a `root` message.
Error explain_parse_error(const TextMap& map, const std::string& file_name,
                          const google::protobuf::Descriptor& root,
                          const ParseComplaint& complaint);

/// The error with file, line, column and layer for something found at an offset. The layer is the
/// one around `within`, by default around the offset.
Error error_in_text(const TextMap& map, const std::string& file_name, std::size_t offset,
                    const std::string& message, std::size_t within = std::string::npos);

}  // namespace crema
