// What the loops compiled by nvcc need around them: the table they are listed in, the stream,
// launch errors.
#include "base/error.h"
#include "kernels/cuda_plugin.h"
#include "kernels/loop_registry.h"

namespace crema::cuda {

LoopTable& plugin_loops() {
  static LoopTable table;  // filled while the plugin is opened, read only afterwards
  return table;
}

cudaStream_t stream_of(const Device& device) {
  CREMA_ASSERT(device.kind() == DeviceKind::kCuda);
  return cudaStreamPerThread;
}

void check_launch(const char* what) {
  const cudaError_t status = cudaGetLastError();
  require(status == cudaSuccess, "{} failed on the GPU: {}", what, cudaGetErrorString(status));
}

}  // namespace crema::cuda

/// Calls `visit` with the name of every loop that the plugin holds.
extern "C" void crema_cuda_each_loop(void (*visit)(const char* name, void* context),
                                     void* context) {
  for (const std::string& name : crema::cuda::plugin_loops().names()) visit(name.c_str(), context);
}
