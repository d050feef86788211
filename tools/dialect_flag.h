// --dialect, for tools that read nets. Defines the flag, so it is included by one file a program.
#pragma once

#include <gflags/gflags.h>

#include "base/error.h"
#include "base/tool.h"
#include "proto/fork_fields.h"

DEFINE_string(dialect, "detect",
              "whose Caffe nets were made for, where field numbers or defaults differ: bvlc, "
              "nvidia, intel, or detect to tell by fields that only one of them has");

inline crema::Dialect dialect_flag() {
  try {
    return crema::parse_dialect(FLAGS_dialect);
  } catch (const crema::Error& error) {
    throw crema::UsageError(std::string("--dialect: ") + error.what());
  }
}
