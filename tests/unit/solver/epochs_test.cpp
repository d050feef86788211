#include "solver/epochs.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(EpochsTest, MarksArePassedOnce) {
  std::vector<int> marks;
  for (int i = 0; i <= 10; ++i) {
    if (passes_mark(i, 2.5)) marks.push_back(i);
  }
  EXPECT_THAT(marks, ElementsAre(0, 3, 5, 8, 10));
  marks.clear();
  for (int i = 0; i <= 6; ++i) {
    if (passes_mark(i, 2)) marks.push_back(i);
  }
  EXPECT_THAT(marks, ElementsAre(0, 2, 4, 6));
  // More than one mark an iteration: every iteration.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(passes_mark(i, 0.4));
}

TEST(EpochsTest, TheEndOfTheLastEpochIsAMark) {
  // Whatever the sizes: a test that is due with the last epoch comes at the last iteration.
  for (const int records : {1, 7, 23, 1000, 60000}) {
    for (const int batch : {1, 3, 64, 256}) {
      for (const float every : {0.1f, 0.25f, 0.3f, 1.0f}) {
        const double epoch = static_cast<double>(records) / batch;
        for (const int count : {1, 3, 10, 70}) {
          const double epochs = decimal(every) * count;
          const int last = iterations_of(epochs, epoch);
          const double interval = decimal(every) * epoch;
          EXPECT_TRUE(passes_mark(last, interval)) << records << " " << batch << " " << every;
          int marks = 0;
          for (int i = 1; i <= last; ++i) marks += passes_mark(i, interval) ? 1 : 0;
          EXPECT_EQ(marks, interval >= 1 ? count : last) << records << " " << batch << " " << every;
        }
      }
    }
  }
}

class EpochsRunTest : public ::testing::Test {
 protected:
  // 23 rows; the train net takes 4 a batch, the test net 5.
  std::unique_ptr<Solver> solver(const std::string& text) {
    SolverOptions options;
    options.listeners = {&recorder_};
    return std::make_unique<Solver>(
        solver_of(
            "net_param { " + classifier(make_rows(scratch_)) +
            " } base_lr: 0.1 lr_policy: \"fixed\" random_seed: 1 snapshot_after_train: false " +
            text),
        *device_, options);
  }
  std::vector<int> tested() const {
    std::vector<int> iterations;
    for (const TestScores& test : recorder_.tests) iterations.push_back(test.iteration);
    return iterations;
  }

  Scratch scratch_;
  Recorder recorder_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(EpochsRunTest, MaxEpochsIsRoundedUp) {
  EXPECT_EQ(solver("max_epochs: 2")->max_iter(), 12);               // 46 rows
  EXPECT_EQ(solver("max_epochs: 0.5")->max_iter(), 3);              // 11.5 rows
  EXPECT_EQ(solver("max_epochs: 4 iter_size: 2")->max_iter(), 12);  // 92 rows, 8 an iteration
  const auto run = solver("max_epochs: 2 test_iter: 1 test_interval: 5");
  run->solve();
  EXPECT_EQ(run->iteration(), 12);
  EXPECT_THAT(tested(), ElementsAre(0, 5, 10));
}

TEST_F(EpochsRunTest, TestEpochsTestEveryRecordOnce) {
  const auto run = solver("max_epochs: 2 test_epochs: 0.5 test_compute_loss: true");
  run->solve();
  EXPECT_THAT(tested(), ElementsAre(0, 3, 6, 9, 12));
  EXPECT_EQ(run->test_nets(), 1);
  // The last scores by hand: 23 batches of one row.
  Net& net = run->test_net(0);
  net.set_batch(1);
  double accuracy = 0, loss = 0;
  for (int i = 0; i < 23; ++i) {
    loss += net.forward();
    accuracy += net.read_blob("accuracy")[0];
  }
  const TestScores& last = recorder_.tests.back();
  EXPECT_NEAR(last.outputs[0].values[0], accuracy / 23, 1e-6);
  EXPECT_NEAR(last.outputs[1].values[0], loss / 23, 1e-5);
  EXPECT_NEAR(*last.loss, loss / 23, 1e-5);
}

TEST_F(EpochsRunTest, TestIterGoesWithTestEpochs) {
  const auto run = solver("max_iter: 7 test_epochs: 1 test_iter: 2");
  run->solve();
  EXPECT_THAT(tested(), ElementsAre(0, 6));
}

TEST_F(EpochsRunTest, ErrorsNameTheField) {
  const auto error = [&](const std::string& text) { return solver_error([&] { solver(text); }); };
  EXPECT_EQ(error("max_epochs: 1 max_iter: 1"),
            "max_epochs and max_iter both say how long to train; give one of them");
  EXPECT_EQ(error("max_iter: 1 test_epochs: 1 test_interval: 1"),
            "test_epochs and test_interval both say when to test; give one of them");
  EXPECT_EQ(error("max_epochs: 0"), "max_epochs is 0; it must be > 0");
  EXPECT_EQ(error("max_iter: 1 test_epochs: -1"), "test_epochs is -1; it must be > 0");
  EXPECT_EQ(error("max_epochs: 1e9"), "1000000000 epochs are 5750000000 iterations, too many");
  const std::string made_up = R"(max_epochs: 1 base_lr: 1 lr_policy: "fixed" net_param {
      layer { name: "d" type: "DummyData" top: "x" top: "y" dummy_data_param { shape { dim: 1 dim: 2 } } }
      layer { name: "l" type: "EuclideanLoss" bottom: "x" bottom: "y" top: "l" } }
      snapshot_after_train: false)";
  EXPECT_EQ(solver_error([&] { Solver(solver_of(made_up), *device_, {}); }),
            "max_epochs needs the number of records of the train net's source, which layer \"d\" "
            "(DummyData) cannot tell; give max_iter and test_interval in their place");
  EXPECT_EQ(
      solver_error([&] { solver_test_nets(solver_of("train_net_param { } test_epochs: 1")); }),
      "test_epochs is given, but there is no test net");
}

TEST_F(EpochsRunTest, TestEpochsMakesANetOfEachTestState) {
  EXPECT_EQ(
      solver_test_nets(solver_of("net_param { } test_epochs: 1 test_state { } test_state { }"))
          .size(),
      2u);
  EXPECT_EQ(solver_test_nets(solver_of("net_param { } test_epochs: 1")).size(), 1u);
  EXPECT_EQ(solver_test_nets(solver_of("net_param { } test_net_param { } test_epochs: 1")).size(),
            1u);
}

}  // namespace
}  // namespace crema
