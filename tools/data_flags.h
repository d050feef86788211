// How tools that run a net read its data. Defines the flags, so it is included by one file a
// program.
#pragma once

#include <gflags/gflags.h>
#include <tbb/global_control.h>

#include <memory>
#include <string>

#include "base/tool.h"
#include "data/reader_options.h"
#include "tensor/device.h"

DEFINE_bool(skip_bad_records, false,
            "leave out records that cannot be read, decoded or transformed, which otherwise end "
            "the run; the end of the log says how many, and what was wrong with the first ones");
DEFINE_int32(data_threads, 0,
             "threads that decode and transform records, at most one a core; 0: one a core. "
             "Results do not depend on it");

inline crema::ReaderOptions reading_flags() { return {FLAGS_skip_bad_records}; }

/// --data_threads, as long as it lives: to be held while the tool runs.
inline std::unique_ptr<tbb::global_control> data_threads_flag() {
  if (FLAGS_data_threads < 0 || FLAGS_data_threads > crema::kMaxThreads) {
    throw crema::UsageError("--data_threads is " + std::to_string(FLAGS_data_threads) +
                            "; it can be 0 (one a core) to " + std::to_string(crema::kMaxThreads));
  }
  if (FLAGS_data_threads == 0) return nullptr;
  // The library counts the thread that waits for the records as one.
  return std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                               static_cast<std::size_t>(FLAGS_data_threads) + 1);
}
