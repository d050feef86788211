// The lock that the HDF5 library lacks.
#pragma once

#include <hdf5.h>

#include <mutex>

namespace crema {

/// Held around every use of the HDF5 library: it keeps tables for the whole process and, as
/// packaged, has no locks of its own, while reading threads and a thread that saves a snapshot may
/// meet in it. May be taken again by the thread that holds it. While held, the library does not
/// print its error stack.
class Hdf5Lock {
 public:
  Hdf5Lock();
  ~Hdf5Lock();
  Hdf5Lock(const Hdf5Lock&) = delete;
  Hdf5Lock& operator=(const Hdf5Lock&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

}  // namespace crema
