// Makes oneDNN use the threads that a device grants: it asks OpenMP for its default, which belongs
// to the calling thread. Costs nothing when the two agree already.
#pragma once

#include <omp.h>

#include "tensor/device.h"

namespace crema {

class ThreadScope {
 public:
  explicit ThreadScope(const Device& device) : before_(omp_get_max_threads()) {
    changed_ = before_ != device.threads();
    if (changed_) omp_set_num_threads(device.threads());
  }
  ~ThreadScope() {
    if (changed_) omp_set_num_threads(before_);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
  bool changed_;
};

}  // namespace crema
