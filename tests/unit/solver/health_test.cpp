// The first number that is none ends a training and is traced to its layer.
#include "solver/health.h"

#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "../base/log_lines.h"
#include "data/batch_reader.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Six rows of two numbers; `bad` replaces one number of row 4.
std::string rows_with(const Scratch& scratch, float bad) {
  const std::string path = scratch.path("rows.h5");
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::create_in_memory();
  const std::vector<float> data = {1, 2, 3, 4, 5, 6, 7, 8, bad, 1, 2, 3}, y(6, 1.0f);
  hdf5::write_floats(file, "x", Shape{6, 2}, data.data());
  hdf5::write_floats(file, "y", Shape{6, 1}, y.data());
  write_file_atomically(path, hdf5::image(file));
  return scratch.write("rows.txt", path + "\n");
}

std::string net_on(const std::string& rows) {
  return R"(net_param {
  layer { name: "data" type: "HDF5Data" top: "x" top: "y" hdf5_data_param { batch_size: 2 source: ")" +
         rows + R"(" } }
  layer { name: "ip1" type: "InnerProduct" bottom: "x" top: "ip1"
          inner_product_param { num_output: 3 weight_filler { type: "constant" value: 0.1 } } }
  layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
  layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
          inner_product_param { num_output: 1 weight_filler { type: "constant" value: 0.1 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip2" bottom: "y" top: "loss" } }
  lr_policy: "fixed" random_seed: 1 )";
}

class HealthTest : public ::testing::Test {
 protected:
  std::unique_ptr<Solver> solver(float bad, const std::string& text, bool keep_going = false,
                                 SolverOptions options = {}) {
    options.keep_going = keep_going;
    options.listeners = {&recorder_};
    return std::make_unique<Solver>(solver_of(net_on(rows_with(scratch_, bad)) + text +
                                              " snapshot_prefix: \"" + scratch_.path("s") + "\""),
                                    *device_, options);
  }

  Scratch scratch_;
  Recorder recorder_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(HealthTest, DataThatIsNoNumberIsTracedToItsRecord) {
  const auto run = solver(kNan, "base_lr: 0.001 max_iter: 9 snapshot: 1");
  const std::string error = error_of([&] { run->solve(); });
  EXPECT_EQ(error,
            "iteration 2: the loss is nan; it began in top \"x\" of solver.prototxt:2: layer "
            "\"data\" (HDF5Data): 1 of 4 values, the first in item 0 (row 4 of " +
                scratch_.path("rows.h5") +
                "). The data itself is not clean: mend or remove that record. The last good "
                "snapshot is " +
                scratch_.path("s_iter_2.solverstate"));
  EXPECT_THAT(recorder_.snapshots, ElementsAre("s_iter_1.solverstate", "s_iter_2.solverstate"));
}

TEST_F(HealthTest, ARateThatIsTooHighIsTracedToWhereNumbersBreakFirst) {
  const auto run = solver(1, "base_lr: 1e12 max_iter: 100");
  const std::string error = error_of([&] { run->solve(); });
  // What comes out of ip2 is huge, but a number; its square is none.
  EXPECT_THAT(error,
              ::testing::StartsWith("iteration 1: the loss is inf; it began in top \"loss\" of "
                                    "solver.prototxt:8: layer \"loss\" (EuclideanLoss): 1 "
                                    "of 1 values. Most often "));
  EXPECT_THAT(error, HasSubstr("(base_lr is 1e+12; try a tenth, warmup_iter or clip_gradients)"));
  EXPECT_THAT(error, HasSubstr("There is no snapshot from before"));
  EXPECT_THAT(recorder_.snapshots, IsEmpty());
}

TEST_F(HealthTest, ABrokenParameterIsNamed) {
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9");
  run->step(1);
  run->net().write_param("ip2", 0, {1, kInfinity, 1});
  EXPECT_THAT(
      error_of([&] { run->step(1); }),
      ::testing::StartsWith("iteration 1: the loss is inf; it began in parameter 0 of layer "
                            "\"ip2\", which the update before brought out of range. "));
}

TEST_F(HealthTest, AGradientAloneIsEnough) {
  // The loss, about 6e37, is finite; the gradient by ip2's weights, 7e18 times 1.4e20, is not.
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9");
  run->net().write_param("ip1", 0, {2e19f, 2e19f, 0, 0, 0, 0});
  run->net().write_param("ip2", 0, {0.1f, 0, 0});
  const std::string error = error_of([&] { run->step(1); });
  EXPECT_THAT(error, ::testing::StartsWith(
                         "iteration 0: there is a NaN or an infinity in the gradients; it began in "
                         "the gradient of parameter 0 of solver.prototxt:"));
  EXPECT_THAT(error, HasSubstr("layer \"ip2\" (InnerProduct): 1 of 3 values"));
}

TEST_F(HealthTest, ClippingSeesItToo) {
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9 clip_gradients: 1");
  run->net().write_param("ip1", 0, {2e19f, 2e19f, 0, 0, 0, 0});
  run->net().write_param("ip2", 0, {0.1f, 0, 0});
  EXPECT_THAT(error_of([&] { run->step(1); }), HasSubstr("parameter 0 of solver.prototxt:"));
}

TEST_F(HealthTest, NoSnapshotIsMadeOfBrokenWeights) {
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9");
  run->step(1);
  run->net().write_param("ip1", 1, {0, 0, kNan});
  EXPECT_EQ(error_of([&] { run->snapshot(); }),
            "iteration 1: there is a NaN or an infinity in parameter 1 of layer \"ip1\", so no "
            "snapshot is made. Most often the learning rate is too high (base_lr is 0.001; try a "
            "tenth, warmup_iter or clip_gradients) or the data is not scaled "
            "(transform_param.scale). There is no snapshot from before");
  EXPECT_THAT(recorder_.snapshots, IsEmpty());
}

TEST_F(HealthTest, KeepGoingWarnsOnce) {
  const LogLines log;
  const auto run = solver(kNan, "base_lr: 0.001 max_iter: 9 snapshot: 4", true);
  EXPECT_TRUE(run->solve());
  int warnings = 0;
  for (const std::string& line : log.warnings) warnings += line.find("--keep_going") != line.npos;
  EXPECT_EQ(warnings, 1);
  EXPECT_THAT(recorder_.snapshots,
              ElementsAre("s_iter_4.solverstate", "s_iter_8.solverstate", "s_iter_9.solverstate"));
  EXPECT_TRUE(std::isnan(run->net().read_params("ip1")[0][0]));
}

TEST_F(HealthTest, SnapshotsOfBrokenWeightsAreNotGoneOnFrom) {
  const std::string text = "base_lr: 0.001 max_iter: 4 snapshot: 1";
  solver(kNan, text, true)->solve();
  const std::string bad = scratch_.path("s_iter_4.solverstate");
  const std::string what =
      scratch_.path("s_iter_4.caffemodel") +
      ": layer \"ip1\", blob 0: 6 of 6 values are NaN or infinite; take weights from before that, "
      "or go on with --keep_going";
  // A list of snapshots, as `auto` gives it: the newest good one.
  SolverOptions automatic;
  automatic.snapshots = snapshots_of(scratch_.path("s"));
  const LogLines log;
  auto run = solver(kNan, text, false, automatic);
  EXPECT_EQ(run->iteration(), 2);
  ASSERT_EQ(log.warnings.size(), 2u);
  EXPECT_EQ(log.warnings[0],
            "passing over a snapshot that cannot be used: " + bad +
                ": history 0, of parameter 0 of layer \"ip1\", holds a NaN or an infinity; take a "
                "snapshot from before that, or go on with --keep_going");
  EXPECT_THAT(error_of([&] { run->solve(); }),
              HasSubstr("The last good snapshot is " + scratch_.path("s_iter_2.solverstate")));
  SolverOptions given;
  given.snapshots = {bad};
  EXPECT_THAT(error_of([&] { solver(1, text, false, given); }), HasSubstr("holds a NaN"));
  EXPECT_EQ(solver(1, text, true, given)->iteration(), 4);
  SolverOptions weights;
  weights.weights = scratch_.path("s_iter_4.caffemodel");
  EXPECT_EQ(error_of([&] { solver(1, text, false, weights); }), what);
  EXPECT_EQ(solver(1, text, true, weights)->iteration(), 0);
}

TEST_F(HealthTest, BeforeTheFirstUpdateTheRateIsNotBlamed) {
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9");
  run->net().write_param("ip2", 0, {1, kInfinity, 1});
  const std::string error = error_of([&] { run->step(1); });
  EXPECT_THAT(error, ::testing::StartsWith(
                         "iteration 0: the loss is inf; it began in parameter 0 of layer \"ip2\". "
                         "No update has been made yet, so the learning rate is not the cause"));
  EXPECT_THAT(error, Not(HasSubstr("base_lr")));
}

TEST_F(HealthTest, BrokenWeightsDoNotPushOutGoodSnapshots) {
  const auto run =
      solver(kNan, "base_lr: 0.001 max_iter: 8 snapshot: 1 snapshot_keep_last: 1", true);
  run->solve();
  EXPECT_TRUE(boost::filesystem::exists(scratch_.path("s_iter_2.solverstate")));
  EXPECT_FALSE(boost::filesystem::exists(scratch_.path("s_iter_1.solverstate")));
}

TEST_F(HealthTest, TheSearchLeavesTheGradientsAndThePositionAsTheyWere) {
  const auto run = solver(1, "base_lr: 0.001 max_iter: 9");
  Net& net = run->net();
  PassMark mark(net);
  net.forward();
  mark.set();
  net.clear_gradients();
  for (int i = 0; i < 2; ++i) {
    net.forward();
    net.backward();
  }
  net.finish_gradients();
  const std::vector<float> gradient = net.read_param_gradient("ip1", 0);
  EXPECT_EQ(find_non_finite(net, mark, 2).where, "");
  EXPECT_EQ(net.read_param_gradient("ip1", 0), gradient);
  EXPECT_EQ(net.passes(), 3u);
  EXPECT_EQ(net.readers()[0].second->position(), 6u);
}

}  // namespace
}  // namespace crema
