#include "tensor/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "../proto/scratch.h"

namespace crema {
namespace {

using testing::error_of;

TEST(CpuDeviceTest, AllocatesAlignedZeros) {
  const auto device = make_cpu_device(1);
  for (const std::size_t bytes : {1u, 63u, 64u, 1000u}) {
    auto* memory = static_cast<unsigned char*>(device->allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[i], 0);
    std::memset(memory, 1, bytes);  // so that used memory comes back zeroed
    device->free(memory);
  }
}

TEST(CpuDeviceTest, CountsWhatIsAllocated) {
  const auto device = make_cpu_device(1);
  EXPECT_EQ(device->bytes_allocated(), 0u);
  void* a = device->allocate(100);
  void* b = device->allocate(64);
  EXPECT_EQ(device->bytes_allocated(), 192u);
  device->free(a);
  EXPECT_EQ(device->bytes_allocated(), 64u);
  EXPECT_EQ(device->peak_bytes_allocated(), 192u);
  device->free(b);
  device->free(nullptr);
  EXPECT_EQ(device->bytes_allocated(), 0u);
  EXPECT_EQ(device->peak_bytes_allocated(), 192u);
}

TEST(CpuDeviceTest, OutOfMemoryIsAUserErrorWithTheSize) {
  const auto device = make_cpu_device(1);
  EXPECT_EQ(error_of([&] { device->allocate(std::size_t{1} << 50); }),
            "out of memory: 1.13e+03 TB were wanted in one piece");
  EXPECT_NE(error_of([&] { device->allocate(std::numeric_limits<std::size_t>::max()); }), "");
  EXPECT_EQ(device->bytes_allocated(), 0u);
}

TEST(CpuDeviceTest, CountsCopies) {
  const auto device = make_cpu_device(1);
  void* a = device->allocate(64);
  void* b = device->allocate(64);
  char host[64] = "some text";
  device->copy_to_device(host, a, 10);
  device->copy_within(a, b, 20);
  char back[64] = {};
  device->copy_to_host(b, back, 30);
  EXPECT_STREQ(back, "some text");
  EXPECT_EQ(device->copies().to_device, 10u);
  EXPECT_EQ(device->copies().within, 20u);
  EXPECT_EQ(device->copies().to_host, 30u);
  device->fill_zero(b, 4);
  device->copy_to_host(b, back, 10);
  EXPECT_STREQ(back + 4, " text");
  EXPECT_EQ(back[0], 0);
  device->free(a);
  device->free(b);
}

TEST(CpuDeviceTest, ThreadsAreAsAskedOrOneACore) {
  EXPECT_EQ(make_cpu_device(3)->threads(), 3);
  EXPECT_GE(make_cpu_device(0)->threads(), 1);
  EXPECT_EQ(error_of([] { make_cpu_device(-1); }),
            "the number of threads is -1; it can be 0 (one a core) to 1024");
  EXPECT_EQ(make_cpu_device(1)->kind(), DeviceKind::kCpu);
}

struct Handle {
  int value = 5;
};
struct OtherHandle {
  int value = 6;
};

TEST(DeviceTest, BackendsAreMadeOnceADevice) {
  const auto device = make_cpu_device(1), other = make_cpu_device(1);
  device->backend<Handle>().value = 7;
  EXPECT_EQ(device->backend<Handle>().value, 7);
  EXPECT_EQ(device->backend<OtherHandle>().value, 6);
  EXPECT_EQ(other->backend<Handle>().value, 5);
}

}  // namespace
}  // namespace crema
