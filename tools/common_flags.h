// The flags that every tool which runs a net has. Defines them, so it is included by one file a
// program.
#pragma once

#include <gflags/gflags.h>

#include "commands/device_choice.h"
#include "dialect_flag.h"

DEFINE_string(gpu, "", "GPU ids or all");
DEFINE_string(devices, "", "cpu: run on the CPU even if the solver says solver_mode: GPU");
DEFINE_int32(threads, 0,
             "threads on the CPU; 0: OMP_NUM_THREADS, else one a core. Results are bit-equal at a "
             "fixed number");
DEFINE_int32(level, 0, "level of the net's state");
DEFINE_string(stage, "", "stages of the net's state, separated by commas");
inline crema::DeviceChoice device_flags() { return {FLAGS_gpu, FLAGS_devices, FLAGS_threads}; }
