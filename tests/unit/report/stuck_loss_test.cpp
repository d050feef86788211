#include "report/stuck_loss.h"

#include <gmock/gmock.h>

#include "../base/log_lines.h"

namespace crema {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LogLines;

void show(StuckLoss& watch, float loss, float weight = 1) {
  TrainingProgress progress;
  progress.iteration = 30;
  progress.outputs = {{"accuracy", {87.3365f}, 0}, {"loss", {loss}, weight}};
  watch.on_display(progress);
}

TEST(StuckLossTest, IsExplainedOnce) {
  StuckLoss watch;
  const LogLines log;
  for (int i = 0; i < 2; ++i) show(watch, 87.3365f);
  EXPECT_THAT(log.warnings, IsEmpty());
  for (int i = 0; i < 9; ++i) show(watch, 87.33655f);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_THAT(log.warnings[0],
              HasSubstr("Iteration 30: \"loss\" has been 87.3365 for 3 displays."));
}

TEST(StuckLossTest, OtherLossesAreNot) {
  StuckLoss watch;
  const LogLines log;
  for (int i = 0; i < 9; ++i) show(watch, i % 3 == 2 ? 87.3f : 87.3365f);
  for (int i = 0; i < 9; ++i) show(watch, 87.3365f, 0);
  EXPECT_THAT(log.warnings, IsEmpty());
}

}  // namespace
}  // namespace crema
