// The plugin opens on a machine without a GPU and holds the loops that nvcc made of the layers' and
// primitives' own sources.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using ::testing::IsSupersetOf;

std::vector<std::string> loops_of(void* plugin) {
  using Visit = void (*)(const char*, void*);
  const auto each_loop =
      reinterpret_cast<void (*)(Visit, void*)>(dlsym(plugin, "crema_cuda_each_loop"));
  EXPECT_NE(each_loop, nullptr);
  std::vector<std::string> names;
  if (each_loop != nullptr) {
    each_loop(
        [](const char* name, void* context) {
          static_cast<std::vector<std::string>*>(context)->emplace_back(name);
        },
        &names);
  }
  return names;
}

TEST(CudaPlugin, HoldsTheDeviceLoops) {
  void* const plugin = dlopen(CREMA_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  EXPECT_THAT(loops_of(plugin), IsSupersetOf({"col2im",
                                              "dropout",
                                              "dropout.channels_last",
                                              "im2col",
                                              "lrn.backward",
                                              "lrn.forward",
                                              "pooling.backward",
                                              "pooling.forward",
                                              "relu.backward",
                                              "relu.forward",
                                              "relu.leaky.backward",
                                              "relu.leaky.forward",
                                              "relu.negative_slope.backward",
                                              "relu.negative_slope.forward",
                                              "sigmoid.backward",
                                              "sigmoid.forward",
                                              "softmax.backward",
                                              "softmax.forward",
                                              "tanh.backward",
                                              "tanh.forward"}));
  dlclose(plugin);
}

}  // namespace
