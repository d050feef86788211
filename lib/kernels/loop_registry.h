// How an op reaches the loop of its device when that loop was compiled by another compiler into a
// library that is opened at run time.
//
// A loop is a function `void loop(const Device&, …)` instantiated for a device tag. The C++
// compiler makes and calls loop<Cpu>; nvcc compiles the same file again, makes loop<Cuda> and lists
// it under a name in the plugin's table, which the plugin hands to every device that it makes
// (Device::backend<LoopTable>()):
//
//   CREMA_CUDA_LOOP("relu.forward", &pointwise_forward<Cuda, ReluValue, float>)
//     is nothing under g++, and
//   run_loop(run.device, "relu.forward", &pointwise_forward<Cpu, ReluValue, float>, …)
//     is g++'s alone.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kernels/device_tags.h"
#include "tensor/device.h"

#ifdef __CUDACC__
#include "kernels/cuda_plugin.h"
#endif

namespace crema {

/// Loops by name; each with the type that it must be called as.
class LoopTable {
 public:
  using Function = void (*)();

  template <class... Parameters>
  void add(const std::string& name, void (*loop)(const Device&, Parameters...)) {
    loops_[name] = {typeid(*loop).name(), reinterpret_cast<Function>(loop)};
  }
  std::vector<std::string> names() const;
  /// The loop of this name; internal errors when it is missing or of another type.
  template <class... Parameters>
  auto find(const std::string& name, const Device& device) const {
    using Loop = void(const Device&, Parameters...);
    return reinterpret_cast<Loop*>(find_erased(name, typeid(Loop).name(), device));
  }

 private:
  Function find_erased(const std::string& name, const char* type, const Device& device) const;

  std::map<std::string, std::pair<std::string, Function>> loops_;
};

#ifndef __CUDACC__

#define CREMA_CUDA_LOOP(name, ...)

/// Runs `cpu` on the processor, the loop called `name` on any other device.
template <class... Parameters, class... Arguments>
void run_loop(Device& device, const char* name, void (*cpu)(const Device&, Parameters...),
              Arguments&&... arguments) {
  if (device.kind() == DeviceKind::kCpu) {
    cpu(device, std::forward<Arguments>(arguments)...);
  } else {
    device.backend<LoopTable>().find<Parameters...>(name, device)(
        device, std::forward<Arguments>(arguments)...);
  }
}

#else

namespace cuda {
struct RegisterLoop {
  template <class... Parameters>
  RegisterLoop(const char* name, void (*loop)(const Device&, Parameters...)) {
    plugin_loops().add(name, loop);
  }
};
}  // namespace cuda

#define CREMA_CUDA_LOOP_JOIN2(a, b) a##b
#define CREMA_CUDA_LOOP_JOIN(a, b) CREMA_CUDA_LOOP_JOIN2(a, b)
#define CREMA_CUDA_LOOP(name, ...)                                                            \
  static const ::crema::cuda::RegisterLoop CREMA_CUDA_LOOP_JOIN(register_loop_, __COUNTER__)( \
      name, __VA_ARGS__);

#endif

}  // namespace crema
