// --threads of the tools that work on pictures without running a net. Defines it, so it is included
// by one file a program.
#pragma once

#include <fmt/format.h>
#include <gflags/gflags.h>

#include "base/tool.h"
#include "tensor/device.h"
#include "tensor/thread_count.h"

DEFINE_int32(threads, 0,
             "threads; 0: OMP_NUM_THREADS, else one a core. The result is the same for any number");

inline int threads_flag() {
  if (FLAGS_threads < 0 || FLAGS_threads > crema::kMaxThreads) {
    throw crema::UsageError(fmt::format("--threads is {}; it can be 0 (one a core) to {}",
                                        FLAGS_threads, crema::kMaxThreads));
  }
  return FLAGS_threads == 0 ? crema::default_threads() : FLAGS_threads;
}
