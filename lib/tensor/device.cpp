#include "tensor/device.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

constexpr std::size_t kAlignment = 64;

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : Device(DeviceKind::kCpu, "CPU", threads) {}

  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded + kAlignment);
    require(memory != nullptr, "out of memory: {} were wanted in one piece",
            human_bytes(static_cast<double>(bytes)));
    // The head keeps the size, so that free() can count it back.
    std::memcpy(memory, &rounded, sizeof rounded);
    void* const usable = static_cast<char*>(memory) + kAlignment;
    std::memset(usable, 0, rounded);
    count_allocation(rounded);
    return usable;
  }

  void free(void* memory) override {
    if (memory == nullptr) return;
    void* const head = static_cast<char*>(memory) - kAlignment;
    std::size_t bytes = 0;
    std::memcpy(&bytes, head, sizeof bytes);
    count_free(bytes);
    std::free(head);
  }

  void copy_to_device(const void* host, void* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
    copies_.to_device += bytes;
  }
  void copy_to_host(const void* device, void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    copies_.to_host += bytes;
  }
  void copy_within(const void* from, void* to, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    copies_.within += bytes;
  }
  void fill_zero(void* memory, std::size_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads) {
  constexpr int kMostThreads = 1024;
  require(threads >= 0 && threads <= kMostThreads,
          "the number of threads is {}; it can be 0 (one a core) to {}", threads, kMostThreads);
  return std::make_unique<CpuDevice>(threads > 0 ? threads : usable_cores());
}

}  // namespace crema
