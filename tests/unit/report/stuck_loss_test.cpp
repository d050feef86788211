#include "report/stuck_loss.h"

#include <gmock/gmock.h>

#include <cmath>

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

TEST(StuckLossTest, ALossThatDoesNotMoveIsSaidOnce) {
  const auto warnings_of = [](const std::vector<float>& losses) {
    StuckLoss watch;
    const LogLines log;
    TrainingProgress progress;
    for (const float loss : losses) {
      progress.loss = loss;
      progress.iteration += 10;
      watch.on_display(progress);
    }
    return log.warnings;
  };
  const auto warnings = warnings_of({3, 21.834125f, 21.834125f, 21.834125f, 21.834125f});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("Iteration 40: the loss has been 21.8341 in every display "
                                     "since iteration 20"));
  EXPECT_THAT(warnings[0], HasSubstr("counts 87.3365 for each record"));
  EXPECT_THAT(warnings_of({1, 1, 2, 2, 1, 1}), IsEmpty());
  EXPECT_THAT(warnings_of({0, 0, 0, 0}), IsEmpty());
  EXPECT_THAT(warnings_of({NAN, NAN, NAN, NAN}), IsEmpty());
}

}  // namespace
}  // namespace crema
