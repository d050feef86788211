#include "base/progress.h"

#include <gtest/gtest.h>

#include <thread>

namespace crema {
namespace {

TEST(ProgressTest, IsSilentWhenStandardErrorIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("work", 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    progress.update(5);
    progress.clear();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace crema
