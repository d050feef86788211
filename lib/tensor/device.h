// Where tensors live and where work runs. There is no current device: whoever needs one is handed
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>

namespace crema {

enum class DeviceKind { kCpu, kCuda };

/// Threads that a CPU device has at most.
constexpr int kMaxThreads = 1024;

/// Bytes moved by explicit copies since the device was made.
struct CopyCounts {
  std::uint64_t to_device = 0;
  std::uint64_t to_host = 0;
  std::uint64_t within = 0;
};

/// One device as seen by one thread: a replica has its own. Not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceKind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  /// Threads that a loop on a CPU device is split over.
  int threads() const { return threads_; }

  /// 64-byte aligned memory, filled with zeros. Out of memory is a user error that says how much
  /// was wanted.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;
  virtual void copy_to_device(const void* host, void* device, std::size_t bytes) = 0;
  virtual void copy_to_host(const void* device, void* host, std::size_t bytes) = 0;
  virtual void copy_within(const void* from, void* to, std::size_t bytes) = 0;
  virtual void fill_zero(void* memory, std::size_t bytes) = 0;

  const CopyCounts& copies() const { return copies_; }
  std::size_t bytes_allocated() const { return bytes_allocated_; }
  std::size_t peak_bytes_allocated() const { return peak_bytes_; }

  /// What a library needs once a device (an engine, a stream, a handle): made on first use, owned
  /// by the device.
  template <class T>
  T& backend() {
    std::shared_ptr<void>& slot = backends_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 protected:
  Device(DeviceKind kind, std::string name, int threads)
      : kind_(kind), name_(std::move(name)), threads_(threads) {}

  void count_allocation(std::size_t bytes) {
    bytes_allocated_ += bytes;
    if (bytes_allocated_ > peak_bytes_) peak_bytes_ = bytes_allocated_;
  }
  void count_free(std::size_t bytes) { bytes_allocated_ -= bytes; }

  CopyCounts copies_;

 private:
  DeviceKind kind_;
  std::string name_;
  int threads_;
  std::size_t bytes_allocated_ = 0;
  std::size_t peak_bytes_ = 0;
  std::unordered_map<std::type_index, std::shared_ptr<void>> backends_;
};

/// The processor; `threads` 0 means OMP_NUM_THREADS if it is set, else one a core that this process
/// may use.
std::unique_ptr<Device> make_cpu_device(int threads = 0);

}  // namespace crema
