// What the CUDA plugin (lib/cuda) gives to the loops that nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include "tensor/device.h"

namespace crema {

class LoopTable;

namespace cuda {

/// The table that every CREMA_CUDA_LOOP enters its loop in.
LoopTable& plugin_loops();
/// The stream of a CUDA device.
cudaStream_t stream_of(const Device& device);
/// Turns a launch failure into an error that names `what`.
void check_launch(const char* what);

}  // namespace cuda
}  // namespace crema
