// Memory and nothing else: a buffer owns it, a tensor is a view of floats with a shape and a
// layout.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tensor/device.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace crema {

/// Owned memory on one device, zero at first.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes)
      : device_(&device), data_(bytes > 0 ? device.allocate(bytes) : nullptr), bytes_(bytes) {}
  ~Buffer() {
    if (data_ != nullptr) device_->free(data_);
  }
  Buffer(Buffer&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  float* floats(std::size_t byte_offset = 0) const {
    return reinterpret_cast<float*>(static_cast<char*>(data_) + byte_offset);
  }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A view; whoever made it sees to it that the memory lives. Default: no tensor at all.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Device& device, Shape shape, Layout layout, float* data)
      : device_(&device), shape_(std::move(shape)), layout_(std::move(layout)), data_(data) {}

  explicit operator bool() const { return data_ != nullptr; }
  Device& device() const { return *device_; }
  const Shape& shape() const { return shape_; }
  const Layout& layout() const { return layout_; }
  /// Elements in memory, those that pad the layout included.
  std::int64_t elements() const { return layout_.elements(shape_); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * sizeof(float); }

  // Device memory; on a GPU not to be touched by the host. The verb says what the caller does with
  // it.
  const float* read() const { return data_; }
  float* write() const { return data_; }   ///< what was there is lost
  float* update() const { return data_; }  ///< read and written

  /// Copies to a tensor of the same shape and layout on the same device.
  void copy_to(const Tensor& other) const;
  void fill_zero() const;

  // Between the device and the host, in this tensor's own layout.
  void copy_from_host(const float* values) const;
  void copy_to_host(float* values) const;

 private:
  Device* device_ = nullptr;
  Shape shape_;
  Layout layout_;
  float* data_ = nullptr;
};

}  // namespace crema
