// A container usually limits its processes by a quota of time and leaves their affinity alone: with
// a thread for each core of the machine, most of them would wait for one that the kernel has put to
// sleep. Hence both are asked.
#include "tensor/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tensor/device.h"

namespace crema {
namespace {

/// The positive number that `text` starts with, up to its end or to `end`; 0 for all else.
std::int64_t positive(const char* text, char end) {
  while (*text == ' ') ++text;
  const char* const stop = text + std::strlen(text);
  std::int64_t value = 0;
  auto [rest, error] = std::from_chars(text, stop, value);
  while (*rest == ' ') ++rest;
  return error == std::errc() && value > 0 && (*rest == '\0' || *rest == end) ? value : 0;
}

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

/// The quota of the group that a container sees as the root of all, in either version.
int quota_cores() {
  std::string quota, period;
  if (std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period) {
    return threads_of_quota(quota, period);
  }
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  return threads_of_quota(quota, period);
}

}  // namespace

int threads_of_variable(const char* text) {
  if (text == nullptr) return 0;
  return static_cast<int>(std::min<std::int64_t>(positive(text, ','), kMaxThreads));
}

int threads_of_quota(const std::string& quota, const std::string& period) {
  const std::int64_t paid = positive(quota.c_str(), '\0');
  const std::int64_t each = positive(period.c_str(), '\0');
  if (paid == 0 || each == 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((paid - 1) / each + 1, kMaxThreads));
}

int default_threads() {
  if (const int wanted = threads_of_variable(std::getenv("OMP_NUM_THREADS")); wanted > 0) {
    return wanted;
  }
  const int cores = std::clamp(affinity_cores(), 1, kMaxThreads);
  const int quota = quota_cores();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace crema
