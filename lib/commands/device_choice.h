// Which device a command runs on, from the flags that all tools share.
#pragma once

#include <memory>
#include <string>

#include "tensor/device.h"

namespace crema {

struct DeviceChoice {
  std::string gpu;      ///< --gpu: ids or "all"; "" none
  std::string devices;  ///< --devices: "cpu" or ""
  int threads = 0;      ///< --threads: 0 = OMP_NUM_THREADS, else one a core
};

/// User error when a GPU is asked for: this build runs on the CPU. A UsageError when a flag says
/// something that it cannot mean.
std::unique_ptr<Device> choose_device(const DeviceChoice& choice);
/// `Use CPU, 2 threads.`
void log_device(const Device& device);

}  // namespace crema
