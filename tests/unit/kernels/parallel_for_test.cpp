#include "kernels/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/thread_scope.h"

namespace crema {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    const auto device = make_cpu_device(threads);
    for (const std::int64_t n : {0, 1, 3, 1000, 16385, 100000}) {
      std::vector<int> visits(static_cast<std::size_t>(n));
      int* const to = visits.data();
      parallel_for(Cpu{}, *device, n, [=](std::int64_t i) { ++to[i]; });
      for (const int count : visits) ASSERT_EQ(count, 1);
      parallel_for(
          Cpu{}, *device, n, [=](std::int64_t i) { ++to[i]; }, 100000);
      for (const int count : visits) ASSERT_EQ(count, 2);
    }
  }
}

TEST(ParallelFor, NeedsNoThreadsForLittleWork) {
  const auto device = make_cpu_device(2);
  std::atomic<int> calls{0};
  parallel_ranges(*device, 100, 1, [&](std::int64_t, std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 1);
  calls = 0;
  parallel_ranges(*device, 2, 1000000, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(end - begin, 1);
    ++calls;
  });
  EXPECT_EQ(calls, 2);
}

TEST(ParallelFor, RangesAreNeverEmpty) {
  const auto device = make_cpu_device(5);
  std::atomic<int> calls{0};
  parallel_ranges(*device, 3, 1000000, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_LT(begin, end);
    ++calls;
  });
  EXPECT_EQ(calls, 3);
}

TEST(ParallelFor, InsideItselfRunsInTheCaller) {
  const auto device = make_cpu_device(2);
  std::vector<int> visits(200000);
  int* const to = visits.data();
  const Device* const inner = device.get();
  parallel_for(
      Cpu{}, *device, 2,
      [=](std::int64_t half) {
        const auto thread = std::this_thread::get_id();
        parallel_ranges(*inner, 100000, 1, [=](std::int64_t begin, std::int64_t end) {
          EXPECT_EQ(thread, std::this_thread::get_id());
          for (std::int64_t i = begin; i < end; ++i) ++to[half * 100000 + i];
        });
      },
      1000000);
  for (const int count : visits) ASSERT_EQ(count, 1);
}

TEST(ParallelFor, WhatABodyThrowsReachesTheCallerWhenAllAreDone) {
  for (const int threads : {1, 2, 5}) {
    const auto device = make_cpu_device(threads);
    std::atomic<int> done{0};
    const auto throw_in_the_last = [&] {
      parallel_ranges(*device, 5, 1000000, [&](std::int64_t, std::int64_t end) {
        if (end == 5) throw std::runtime_error("the last");
        ++done;
      });
    };
    EXPECT_THROW(throw_in_the_last(), std::runtime_error);
    EXPECT_EQ(done, threads - 1);
    EXPECT_THROW(parallel_for(
                     Cpu{}, *device, 5, [](std::int64_t i) { throw i; }, 1000000),
                 std::int64_t);
    std::atomic<int> visits{0};  // and all is well afterwards
    parallel_for(
        Cpu{}, *device, 5, [&](std::int64_t) { ++visits; }, 1000000);
    EXPECT_EQ(visits, 5);
  }
}

TEST(ThreadScope, GrantsTheThreadsOfTheDeviceAndGivesThemBack) {
  const int before = omp_get_max_threads();
  const auto device = make_cpu_device(before + 1);
  {
    const ThreadScope scope(*device);
    EXPECT_EQ(omp_get_max_threads(), before + 1);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace crema
