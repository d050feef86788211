#include "commands/describe_net.h"

#include <gmock/gmock.h>

#include "../proto/scratch.h"
#include "base/tool.h"

namespace crema {
namespace {

using ::testing::HasSubstr;
using testing::Scratch;

TEST(ParseShapesTest, ReadsNamesAndDimensions) {
  const auto shapes = parse_shapes("data=32x3x227x227,label=32");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes.at("data"), (Shape{32, 3, 227, 227}));
  EXPECT_EQ(shapes.at("label"), (Shape{32}));
  EXPECT_TRUE(parse_shapes("").empty());
}

TEST(ParseShapesTest, OtherTextIsAWrongCommandLine) {
  for (const char* text : {"data", "=3", "data=", "data=3xa", "data=3x-1", "data=1.5"}) {
    EXPECT_THROW(parse_shapes(text), UsageError) << text;
  }
}

/// What describe_net prints.
std::string description(const DescribeOptions& options) {
  ::testing::internal::CaptureStdout();
  describe_net(options);
  return ::testing::internal::GetCapturedStdout();
}

TEST(DescribeNetTest, NeedsNoSourceWhereAShapeIsGiven) {
  const Scratch scratch;
  DescribeOptions options;
  options.device.threads = 1;
  options.model = std::string(CREMA_SOURCE_DIR) + "/models/caffenet/train_val.prototxt";
  options.input_shapes = "data=10x3x227x227";
  const std::string text = description(options);
  EXPECT_THAT(text, HasSubstr("net \"CaffeNet\""));
  EXPECT_THAT(text, HasSubstr("10x96x55x55"));
  EXPECT_THAT(text, HasSubstr("60,965,224 parameters"));
}

TEST(DescribeNetTest, EveryTopOfADataLayerMayHaveAShape) {
  DescribeOptions options;
  options.device.threads = 1;
  options.model = std::string(CREMA_SOURCE_DIR) + "/models/fcn/train_val.prototxt";
  options.input_shapes = "data=2x3x64x64,label=2x1x64x64";
  EXPECT_THAT(description(options), HasSubstr("2x1x64x64"));
  options.input_shapes = "label=2x1x64x64";
  EXPECT_THAT(testing::error_of([&] { describe_net(options); }),
              HasSubstr("a shape of its first top \"data\" is needed beside that of another"));
}

}  // namespace
}  // namespace crema
