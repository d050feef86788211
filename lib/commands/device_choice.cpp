#include "commands/device_choice.h"

#include <glog/logging.h>

#include "base/error.h"

namespace crema {

std::unique_ptr<Device> choose_device(const DeviceChoice& choice) {
  require(choice.gpu.empty(),
          "--gpu {}: this build cannot run on a GPU yet; leave --gpu out to run on the CPU",
          choice.gpu);
  require(choice.devices.empty() || choice.devices == "cpu",
          "--devices {} is not known; it can be cpu", choice.devices);
  std::unique_ptr<Device> device = make_cpu_device(choice.threads);
  LOG(INFO) << "Use CPU, " << device->threads() << " threads.";
  return device;
}

}  // namespace crema
