#include "commands/device_choice.h"

#include <glog/logging.h>

#include "base/error.h"
#include "base/tool.h"

namespace crema {

std::unique_ptr<Device> choose_device(const DeviceChoice& choice) {
  require(choice.gpu.empty(),
          "--gpu {}: this build cannot run on a GPU yet; leave --gpu out to run on the CPU",
          choice.gpu);
  if (!choice.devices.empty() && choice.devices != "cpu") {
    throw UsageError(fmt::format("--devices is \"{}\"; it can be cpu", choice.devices));
  }
  if (choice.threads < 0 || choice.threads > kMaxThreads) {
    throw UsageError(fmt::format("--threads is {}; it can be 0 (one a core) to {}", choice.threads,
                                 kMaxThreads));
  }
  return make_cpu_device(choice.threads);
}

void log_device(const Device& device) {
  LOG(INFO) << "Use " << device.name() << ", " << device.threads() << " threads.";
}

}  // namespace crema
