// Copies of whole tensors, padding included, by way of their device: a view never touches memory
// that may be a GPU's.
#include "tensor/tensor.h"

#include "base/error.h"

namespace crema {

void Tensor::copy_to(const Tensor& other) const {
  CREMA_ASSERT(other.device_ == device_ && other.elements() == elements() &&
               other.layout_ == layout_);
  if (other.data_ != data_) device_->copy_within(data_, other.data_, bytes());
}

void Tensor::fill_zero() const { device_->fill_zero(data_, bytes()); }

void Tensor::copy_from_host(const float* values) const {
  device_->copy_to_device(values, data_, bytes());
}

void Tensor::copy_to_host(float* values) const { device_->copy_to_host(data_, values, bytes()); }

}  // namespace crema
