#include "commands/device_choice.h"

#include <gtest/gtest.h>

#include "../proto/scratch.h"
#include "base/tool.h"

namespace crema {
namespace {

using testing::error_of;

TEST(DeviceChoiceTest, IsTheProcessor) {
  EXPECT_EQ(choose_device({"", "", 3})->threads(), 3);
  EXPECT_EQ(choose_device({"", "cpu", 0})->kind(), DeviceKind::kCpu);
}

TEST(DeviceChoiceTest, AGpuIsRefusedRatherThanIgnored) {
  EXPECT_NE(error_of([] { choose_device({"0", "", 0}); }).find("--gpu 0: "), std::string::npos);
}

TEST(DeviceChoiceTest, OtherValuesAreAWrongCommandLine) {
  for (const char* gpu : {"x", "0,x", "-1", ",", "0 1", "ALL", "99999999999"}) {
    EXPECT_THROW(choose_device({gpu, "", 0}), UsageError) << gpu;
  }
  for (const char* gpu : {"0", "0,1", "all"}) {
    EXPECT_THROW(choose_device({gpu, "", 0}), Error) << gpu;
  }
  EXPECT_THROW(choose_device({"", "abacus", 0}), UsageError);
  EXPECT_THROW(choose_device({"", "", -1}), UsageError);
}

}  // namespace
}  // namespace crema
