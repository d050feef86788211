#include "tensor/thread_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tensor/device.h"

namespace crema {
namespace {

TEST(ThreadCount, OfTheVariable) {
  EXPECT_EQ(threads_of_variable("3"), 3);
  EXPECT_EQ(threads_of_variable(" 3 "), 3);
  EXPECT_EQ(threads_of_variable("4,2"), 4);
  EXPECT_EQ(threads_of_variable("100000"), kMaxThreads);
  for (const char* const nothing : {"", "0", "-2", "many", "3x", "99999999999999999999"}) {
    EXPECT_EQ(threads_of_variable(nothing), 0) << nothing;
  }
  EXPECT_EQ(threads_of_variable(nullptr), 0);
}

TEST(ThreadCount, OfTheQuota) {
  EXPECT_EQ(threads_of_quota("200000", "100000"), 2);
  EXPECT_EQ(threads_of_quota("150000", "100000"), 2);
  EXPECT_EQ(threads_of_quota("1000", "100000"), 1);
  EXPECT_EQ(threads_of_quota("9000000000", "1000"), kMaxThreads);
  EXPECT_EQ(threads_of_quota("max", "100000"), 0);
  EXPECT_EQ(threads_of_quota("-1", "100000"), 0);
  EXPECT_EQ(threads_of_quota("", ""), 0);
  EXPECT_EQ(threads_of_quota("100000", "0"), 0);
}

TEST(ThreadCount, TheVariableIsTheDefaultOfADevice) {
  const char* const now = std::getenv("OMP_NUM_THREADS");
  const std::optional<std::string> before = now ? std::optional<std::string>(now) : std::nullopt;
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(make_cpu_device()->threads(), 3);
  EXPECT_EQ(make_cpu_device(1)->threads(), 1);
  setenv("OMP_NUM_THREADS", "none", 1);
  const int cores = default_threads();
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(make_cpu_device()->threads(), cores);
  EXPECT_GE(cores, 1);
  if (before) setenv("OMP_NUM_THREADS", before->c_str(), 1);
}

}  // namespace
}  // namespace crema
