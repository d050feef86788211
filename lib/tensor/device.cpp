// The CPU as a device: aligned memory that counts itself, and copies that are memcpy and counted
// all the same, so that tests can tell what a GPU would have to move.
#include "tensor/device.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "tensor/thread_count.h"

namespace crema {
namespace {

constexpr std::size_t kAlignment = 64;

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
  require(threads >= 0 && threads <= kMaxThreads,
          "the number of threads is {}; it can be 0 (one a core) to {}", threads, kMaxThreads);
  return std::make_unique<CpuDevice>(threads > 0 ? threads : default_threads());
}

}  // namespace crema
