#include "proto/hdf5_lock.h"

namespace crema {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;  // one a process, as the library's tables are; no other state
  return mutex;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex()) {
  // The library's own clearing up when the program ends crashes over a file that could not be
  // written. Whatever we open we close.
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

}  // namespace crema
