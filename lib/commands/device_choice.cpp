#include "commands/device_choice.h"

#include <glog/logging.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/tool.h"

namespace crema {
namespace {

/// Also nothing at all.
bool names_gpus(const std::string& text) {
  if (text == "all") return true;
  const std::vector<std::string> ids = split(text, ',');
  return std::ranges::all_of(ids,
                             [](const std::string& id) {
                               return id.size() < 4 && std::ranges::all_of(id, [](char c) {
                                        return c >= '0' && c <= '9';
                                      });
                             }) &&
         (text.empty() || !ids.empty());
}

}  // namespace

std::unique_ptr<Device> choose_device(const DeviceChoice& choice) {
  if (!names_gpus(choice.gpu)) {
    throw UsageError(fmt::format(
        "--gpu is \"{}\"; it can be ids of GPUs, separated by commas, or all", choice.gpu));
  }
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
  LOG(INFO) << "Use " << device.name() << ", " << counted(device.threads(), "thread") << ".";
}

}  // namespace crema
