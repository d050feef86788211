#include "commands/train.h"

#include <gtest/gtest.h>

#include "../proto/scratch.h"
#include "base/tool.h"
#include "proto/solver_state.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

/// The layers "level" and "stage" are in the net only in such states.
const char* const kNet = R"(
layer { name: "d" type: "DummyData" top: "x" top: "y"
        dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
        inner_product_param { num_output: 1 } include { stage: "deploy" } }
layer { name: "jp" type: "InnerProduct" bottom: "x" top: "ip"
        inner_product_param { num_output: 1 } exclude { stage: "deploy" } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" })";

class TrainTest : public ::testing::Test {
 protected:
  TrainOptions options(const std::string& more = "") {
    TrainOptions options;
    options.solver = scratch_.write("solver.prototxt",
                                    "net: \"" + scratch_.write("net.prototxt", kNet) +
                                        "\" base_lr: 0.1 lr_policy: \"fixed\" max_iter: 4 " + more);
    options.device.threads = 1;
    return options;
  }

  Scratch scratch_;
};

TEST_F(TrainTest, LeavesASnapshotBesideTheSolver) {
  EXPECT_EQ(train(options()), 0);
  EXPECT_EQ(read_solver_state(scratch_.path("solver_iter_4.solverstate")).iter(), 4);
}

TEST_F(TrainTest, StagesComeFromTheFlags) {
  TrainOptions deploy = options();
  deploy.stages = "other,deploy";
  train(deploy);
  EXPECT_NE(read_weights(scratch_.path("solver_iter_4.caffemodel")).find("ip"), nullptr);
  train(options());
  EXPECT_NE(read_weights(scratch_.path("solver_iter_4.caffemodel")).find("jp"), nullptr);
}

TEST_F(TrainTest, AutoStartsAndGoesOn) {
  TrainOptions automatic = options("snapshot: 2");
  automatic.snapshot = "auto";
  EXPECT_EQ(train(automatic), 0);
  boost::filesystem::remove(scratch_.path("solver_iter_4.solverstate"));
  EXPECT_EQ(train(automatic), 0);  // from 2
  EXPECT_EQ(read_solver_state(scratch_.path("solver_iter_4.solverstate")).iter(), 4);
}

TEST_F(TrainTest, AnExplicitGpuIsRefusedUnlessOverruled) {
  TrainOptions gpu = options("solver_mode: GPU");
  EXPECT_NE(error_of([&] { train(gpu); }).find("--devices cpu"), std::string::npos);
  gpu.device.devices = "cpu";
  EXPECT_EQ(train(gpu), 0);
}

TEST_F(TrainTest, BadEffectsAreAWrongCommandLine) {
  TrainOptions bad = options();
  bad.sigint_effect = "explode";
  EXPECT_THROW(train(bad), UsageError);
}

}  // namespace
}  // namespace crema
