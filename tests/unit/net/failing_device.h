// The processor as a device that runs out of memory when told to.
#pragma once

#include <memory>

#include "base/error.h"
#include "tensor/device.h"

namespace crema::testing {

class FailingDevice final : public Device {
 public:
  FailingDevice() : Device(DeviceKind::kCpu, "failing", 1), inner_(make_cpu_device(1)) {}

  /// The allocation after `more` successful ones fails, once; -1: none.
  void fail_at(int more) { until_failure_ = more; }
  std::size_t bytes_in_use() const { return inner_->bytes_allocated(); }

  void* allocate(std::size_t bytes) override {
    if (until_failure_ >= 0 && until_failure_-- == 0) fail("out of memory, on purpose");
    return inner_->allocate(bytes);
  }
  void free(void* memory) override { inner_->free(memory); }
  void copy_to_device(const void* host, void* device, std::size_t bytes) override {
    inner_->copy_to_device(host, device, bytes);
  }
  void copy_to_host(const void* device, void* host, std::size_t bytes) override {
    inner_->copy_to_host(device, host, bytes);
  }
  void copy_within(const void* from, void* to, std::size_t bytes) override {
    inner_->copy_within(from, to, bytes);
  }
  void fill_zero(void* memory, std::size_t bytes) override { inner_->fill_zero(memory, bytes); }

 private:
  std::unique_ptr<Device> inner_;
  int until_failure_ = -1;
};

}  // namespace crema::testing
