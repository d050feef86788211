#include "solver/solver.h"

#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <map>

#include "../base/log_lines.h"
#include "solver/snapshot.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsEmpty;

/// y = w * x with x = 1 and the target 3: loss (w - 3)^2 / 2, gradient w - 3, w starts at 1.
const std::string kScalar = R"(net_param {
  layer { name: "d" type: "DummyData" top: "x" top: "y"
          dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 }
                             data_filler { value: 1 } data_filler { value: 3 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
          inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" } }
)";

class Training {
 public:
  explicit Training(const std::string& text, const SolverOptions& options = {})
      : device(make_cpu_device(1)),
        solver(solver_of("base_lr: 0.1 random_seed: 1 snapshot_prefix: \"" + scratch.path("s") +
                         "\" " + text + (has_policy(text) ? "" : " lr_policy: \"fixed\"")),
               *device, options) {
    solver.add_listener(&recorder);
  }

  static bool has_policy(const std::string& text) {
    return text.find("lr_policy") != std::string::npos;
  }
  float weight() { return solver.net().read_params("ip")[0][0]; }

  Scratch scratch;
  Recorder recorder;
  std::unique_ptr<Device> device;
  Solver solver;
};

TEST(SolverTest, TakesTheStepsOfGradientDescent) {
  Training run(kScalar + "max_iter: 5 momentum: 0.5");
  double w = 1, h = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(run.solver.step(1));
    h = 0.5 * h + 0.1 * (w - 3);
    w -= h;
    EXPECT_NEAR(run.weight(), w, 1e-6);
  }
  EXPECT_EQ(run.solver.iteration(), 5);
}

TEST(SolverTest, GradientsOfIterSizePassesAreAveraged) {
  Training run(kScalar + "max_iter: 1 iter_size: 4");
  run.solver.step(1);
  EXPECT_FLOAT_EQ(run.weight(), 1.2f);
}

TEST(SolverTest, ClippingLooksAtTheSumOverIterSize) {
  // The sum of four gradients of -2 is -8; cut to a norm of 1 and divided by 4.
  Training run(kScalar + "max_iter: 1 iter_size: 4 clip_gradients: 1");
  run.solver.step(1);
  EXPECT_FLOAT_EQ(run.weight(), 1.025f);
  Training untouched(kScalar + "max_iter: 1 clip_gradients: 2");
  untouched.solver.step(1);
  EXPECT_FLOAT_EQ(untouched.weight(), 1.2f);
}

TEST(SolverTest, WeightDecayIsL2OrL1) {
  Training l2(kScalar + "max_iter: 1 weight_decay: 0.5");
  l2.solver.step(1);
  EXPECT_FLOAT_EQ(l2.weight(), 1 - 0.1f * (-2 + 0.5f));
  Training l1(kScalar + "max_iter: 1 weight_decay: 0.25 regularization_type: \"L1\"");
  l1.solver.step(1);
  EXPECT_FLOAT_EQ(l1.weight(), 1 - 0.1f * (-2 + 0.25f));
}

TEST(SolverTest, MultipliersScaleRateAndDecay) {
  std::string text = kScalar;
  text.replace(text.find("inner_product_param"), 0, "param { lr_mult: 2 decay_mult: 3 } ");
  Training run(text + "max_iter: 1 weight_decay: 0.5");
  run.solver.step(1);
  EXPECT_FLOAT_EQ(run.weight(), 1 - 0.2f * (-2 + 1.5f));
}

TEST(SolverTest, AParameterOfRateZeroStays) {
  std::string text = kScalar;
  text.replace(text.find("inner_product_param"), 0, "param { lr_mult: 0 } ");
  for (const char* type : {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"}) {
    Training run(text + "max_iter: 3 weight_decay: 0.5 type: \"" + type + "\"");
    run.solver.step(3);
    EXPECT_EQ(run.weight(), 1) << type;
  }
}

TEST(SolverTest, DisplaysWhatCaffeDisplays) {
  Training run(kScalar + "max_iter: 4 display: 2 lr_policy: \"exp\" gamma: 0.5");
  EXPECT_TRUE(run.solver.solve());
  ASSERT_EQ(run.recorder.displays.size(), 3u);  // 0, 2 and once after the last iteration
  const TrainingProgress& second = run.recorder.displays[1];
  EXPECT_EQ(second.iteration, 2);
  EXPECT_EQ(second.iterations, 2);
  ASSERT_TRUE(second.rate);
  EXPECT_FLOAT_EQ(*second.rate, 0.025f);
  ASSERT_EQ(second.outputs.size(), 1u);
  EXPECT_EQ(second.outputs[0].name, "loss");
  EXPECT_EQ(second.outputs[0].loss_weight, 1);
  EXPECT_FLOAT_EQ(second.outputs[0].values[0], second.loss);
  EXPECT_FALSE(run.recorder.displays[2].rate);
  EXPECT_EQ(run.recorder.displays[2].iteration, 4);
}

TEST(SolverTest, TheShownLossIsTheMeanOfTheLast) {
  Training run(kScalar + "max_iter: 6 display: 1 average_loss: 3");
  run.solver.step(6);
  std::vector<double> losses;
  double w = 1;
  for (int i = 0; i < 6; ++i) {
    losses.push_back((w - 3) * (w - 3) / 2);
    w -= 0.1 * (w - 3);
    double sum = 0;
    const int n = std::min(i + 1, 3);
    for (int j = 0; j < n; ++j) sum += losses[losses.size() - 1 - static_cast<std::size_t>(j)];
    EXPECT_NEAR(run.recorder.displays[static_cast<std::size_t>(i)].loss, sum / n, 1e-5);
  }
}

TEST(SolverTest, TheShownLossRecoversFromAHugeOne) {
  // Caffe's running mean would be left with rounding errors, below zero at times.
  Training run(kScalar + "max_iter: 50 display: 1 average_loss: 4");
  run.solver.net().write_param("ip", 0, {1e12f});
  run.solver.step(1);
  run.solver.net().write_param("ip", 0, {2.999f});
  run.solver.step(40);
  for (std::size_t i = 5; i < run.recorder.displays.size(); ++i) {
    EXPECT_GE(run.recorder.displays[i].loss, 0);
    EXPECT_LT(run.recorder.displays[i].loss, 1e-3);
  }
}

TEST(SolverTest, TestsComeWhenDueAndAverage) {
  const Scratch scratch;
  const std::string rows = make_rows(scratch);
  Training run("net_param { " + classifier(rows) +
               " } test_iter: 5 test_interval: 2 max_iter: 4 test_compute_loss: true");
  EXPECT_TRUE(run.solver.solve());
  std::vector<int> iterations;
  for (const TestScores& test : run.recorder.tests) {
    iterations.push_back(test.iteration);
    ASSERT_EQ(test.outputs.size(), 2u);
    EXPECT_EQ(test.outputs[0].name, "accuracy");
    EXPECT_EQ(test.outputs[0].loss_weight, 0);
    EXPECT_EQ(test.outputs[1].name, "loss");
    EXPECT_EQ(test.outputs[1].loss_weight, 1);
    EXPECT_GE(test.outputs[0].values[0], 0);
    EXPECT_LE(test.outputs[0].values[0], 1);
    ASSERT_TRUE(test.loss);
    EXPECT_NEAR(*test.loss, test.outputs[1].values[0], 1e-6);
  }
  EXPECT_THAT(iterations, ElementsAre(0, 2, 4));
  // The test net sees what is trained.
  EXPECT_EQ(run.solver.test_net(0).read_params("ip2"), run.solver.net().read_params("ip2"));
}

TEST(SolverTest, TestInitializationFalseSkipsTheFirstTest) {
  const Scratch scratch;
  Training run("net_param { " + classifier(make_rows(scratch)) +
               " } test_iter: 1 test_interval: 2 max_iter: 3 test_initialization: false");
  run.solver.solve();
  ASSERT_EQ(run.recorder.tests.size(), 1u);
  EXPECT_EQ(run.recorder.tests[0].iteration, 2);
}

TEST(SolverTest, SnapshotsComeWhenDueAndAtTheEnd) {
  const auto snapshots = [](const std::string& text) {
    Training run(kScalar + text);
    run.solver.solve();
    return run.recorder.snapshots;
  };
  EXPECT_THAT(snapshots("max_iter: 5 snapshot: 2"),
              ElementsAre("s_iter_2.solverstate", "s_iter_4.solverstate", "s_iter_5.solverstate"));
  EXPECT_THAT(snapshots("max_iter: 4 snapshot: 2"),
              ElementsAre("s_iter_2.solverstate", "s_iter_4.solverstate"));
  EXPECT_THAT(snapshots("max_iter: 3"), ElementsAre("s_iter_3.solverstate"));
  EXPECT_THAT(snapshots("max_iter: 3 snapshot_after_train: false"), IsEmpty());
  EXPECT_THAT(snapshots("max_iter: 3 snapshot: 2 snapshot_after_train: false"),
              ElementsAre("s_iter_2.solverstate"));
  EXPECT_THAT(snapshots("max_iter: 3 snapshot_format: HDF5"),
              ElementsAre("s_iter_3.solverstate.h5"));
}

TEST(SolverTest, OldSnapshotsGoOnceTheNewOneIsThere) {
  Training run(kScalar + "max_iter: 5 snapshot: 1 snapshot_keep_last: 2");
  run.recorder.at_iteration = [&](int) {
    const std::size_t there = snapshots_of(run.scratch.path("s")).size();
    EXPECT_LE(there, 2u);
  };
  run.solver.solve();
  EXPECT_THAT(snapshots_of(run.scratch.path("s")),
              ElementsAre(run.scratch.path("s_iter_5.solverstate"),
                          run.scratch.path("s_iter_4.solverstate")));
}

TEST(SolverTest, DebugInfoIsLoggedWhereItIsDisplayed) {
  const auto count = [](const std::string& text) {
    const LogLines log;
    Training run(kScalar + "max_iter: 4 display: 2 test_iter: 3 test_interval: 4 " + text);
    run.solver.solve();
    std::map<std::string, int> lines;
    for (const std::string& line : log.lines) {
      if (line.rfind("    [", 0) == 0) ++lines[line.substr(0, line.find(" data:"))];
    }
    return lines;
  };
  EXPECT_TRUE(count("").empty());
  auto lines = count("debug_info: true");
  // Two displays (the pass of the last is not looked at: its iteration is over) and two tests.
  EXPECT_EQ(lines["    [Forward] Layer ip, top blob ip"], 2 + 2 * 3);
  EXPECT_EQ(lines["    [Forward] Layer ip, param blob 0"], 2 + 2 * 3);
  EXPECT_EQ(lines["    [Backward] Layer ip, param blob 0 diff: 2"], 1);
  EXPECT_EQ(lines.count("    [Backward] Layer loss, bottom blob y"), 0u);
}

TEST(SolverTest, SnapshotDiffHoldsTheLastStep) {
  Training run(kScalar + "max_iter: 1 snapshot_diff: true");
  run.solver.solve();
  caffe::NetParameter net = run.solver.net().to_proto(true);
  for (const auto& layer : net.layer()) {
    if (layer.name() == "ip") {
      EXPECT_FLOAT_EQ(layer.blobs(0).diff(0), -0.2f);
    }
  }
}

TEST(SolverTest, SnapshotDiffInHdf5HoldsThatOfSharedParametersInEveryLayer) {
  Training run(R"(net_param {
    layer { name: "d" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 }
                               data_filler { value: 1 } data_filler { value: 3 } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" }
            inner_product_param { num_output: 2 bias_term: false weight_filler { value: 1 } } }
    layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { name: "w" }
            inner_product_param { num_output: 2 bias_term: false } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "b" bottom: "y" top: "loss" } }
    max_iter: 1 snapshot_diff: true snapshot_format: HDF5)");
  run.solver.solve();
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::open_file(run.scratch.path("s_iter_1.caffemodel.h5"));
  const hdf5::Handle data = hdf5::open_group(file, "data"), diff = hdf5::open_group(file, "diff");
  const hdf5::Handle a = hdf5::open_group(diff, "a"), b = hdf5::open_group(diff, "b");
  EXPECT_TRUE(hdf5::exists(hdf5::open_group(data, "a"), "0"));
  EXPECT_FALSE(hdf5::exists(hdf5::open_group(data, "b"), "0"));
  // x = (1, 1), w all 1: a = (2, 2), b = (4, 4), its gradient 1: w's is 2 + 2, the step 0.4.
  EXPECT_THAT(hdf5::read_floats(a, "0"), ::testing::Each(FloatEq(0.4f)));
  EXPECT_EQ(hdf5::read_floats(b, "0"), hdf5::read_floats(a, "0"));
}

TEST(SolverTest, ASignalStopsAfterTheIterationAndSaves) {
  SignalWatch signals(SignalAction::kStop, SignalAction::kSnapshot);
  SolverOptions options;
  options.signals = &signals;
  Training run(kScalar + "max_iter: 10 display: 1", options);
  run.recorder.at_iteration = [](int iteration) {
    if (iteration == 3) std::raise(SIGINT);
  };
  EXPECT_FALSE(run.solver.solve());
  EXPECT_EQ(run.solver.iteration(), 3);
  EXPECT_THAT(run.recorder.snapshots, ElementsAre("s_iter_3.solverstate"));
  EXPECT_EQ(run.recorder.displays.size(), 3u);  // no last display
}

TEST(SolverTest, WhoStopsARunWantsToGoOnWithIt) {
  SignalWatch signals(SignalAction::kStop, SignalAction::kSnapshot);
  SolverOptions options;
  options.signals = &signals;
  Training run(kScalar + "max_iter: 10 snapshot_after_train: false", options);
  run.recorder.at_iteration = [](int) { std::raise(SIGTERM); };
  EXPECT_FALSE(run.solver.solve());
  EXPECT_EQ(run.solver.iteration(), 1);
  EXPECT_THAT(run.recorder.snapshots, ElementsAre("s_iter_1.solverstate"));
}

TEST(SolverTest, ASignalAsksForASnapshotAndTrainingGoesOn) {
  SignalWatch signals(SignalAction::kStop, SignalAction::kSnapshot);
  SolverOptions options;
  options.signals = &signals;
  Training run(kScalar + "max_iter: 4", options);
  run.recorder.at_iteration = [](int iteration) {
    if (iteration == 2) std::raise(SIGHUP);
  };
  EXPECT_TRUE(run.solver.solve());
  EXPECT_THAT(run.recorder.snapshots, ElementsAre("s_iter_2.solverstate", "s_iter_4.solverstate"));
}

TEST(SolverTest, ASnapshotThatIsAskedForAtTheEndIsMadeOnce) {
  SignalWatch signals(SignalAction::kStop, SignalAction::kSnapshot);
  SolverOptions options;
  options.signals = &signals;
  Training run(kScalar + "max_iter: 2", options);
  run.recorder.at_iteration = [](int iteration) {
    if (iteration == 2) std::raise(SIGHUP);
  };
  run.solver.solve();
  EXPECT_THAT(run.recorder.snapshots, ElementsAre("s_iter_2.solverstate"));
}

TEST(SolverTest, ASignalStopsATestToo) {
  const Scratch scratch;
  SignalWatch signals(SignalAction::kStop, SignalAction::kSnapshot);
  SolverOptions options;
  options.signals = &signals;
  Training run("net_param { " + classifier(make_rows(scratch)) +
                   " } test_iter: 100 test_interval: 2 max_iter: 9",
               options);
  run.recorder.at_test = [](int iteration) {
    if (iteration == 2) std::raise(SIGINT);
  };
  EXPECT_FALSE(run.solver.solve());
  EXPECT_EQ(run.solver.iteration(), 2);
  EXPECT_EQ(run.recorder.tests.size(), 1u);
  EXPECT_THAT(run.recorder.snapshots, ElementsAre("s_iter_2.solverstate"));
}

std::string construction_error(const std::string& text) {
  const auto device = make_cpu_device(1);
  return error_of([&] { Solver(solver_of(text), *device, {}); });
}

TEST(SolverTest, AMissingSnapshotFolderIsFoundBeforeTraining) {
  const Scratch scratch;
  const std::string text = kScalar + "lr_policy: \"fixed\" base_lr: 1 max_iter: 1 ";
  const std::string prefix = "snapshot_prefix: \"" + scratch.path("none/s") + "\" ";
  const std::string error = construction_error(text + prefix);
  EXPECT_NE(error.find("the folder " + scratch.path("none") +
                       " for snapshots (snapshot_prefix) does not exist; make it first"),
            std::string::npos)
      << error;
  EXPECT_EQ(construction_error(text + prefix + "snapshot_after_train: false"), "");
}

TEST(SolverTest, ASnapshotThatCannotBeWrittenIsFoundBeforeTraining) {
  const Scratch scratch;
  const std::string text = R"(
    base_lr: 0.1 lr_policy: "fixed" max_iter: 1 random_seed: 1 snapshot_format: HDF5
    net_param {
      layer { name: "d" type: "DummyData" top: "x" top: "y" dummy_data_param { shape { dim: 1 dim: 2 } } }
      layer { name: "ip" type: "InnerProduct" bottom: "x" top: "q"
              inner_product_param { num_output: 2 } }
      layer { name: "ip/1" type: "InnerProduct" bottom: "q" top: "p"
              inner_product_param { num_output: 2 } }
      layer { name: "l" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "l" } }
    snapshot_prefix: ")" + scratch.path("s") +
                           "\"";
  EXPECT_EQ(
      construction_error(text),
      "solver.prototxt:2: layers \"ip\" and \"ip/1\" cannot both be saved as HDF5, where \"1\" is "
      "the name of a parameter of the first; rename one");
  EXPECT_EQ(construction_error(text + " snapshot_after_train: false"), "");
}

TEST(SolverTest, BadFieldsAreErrorsBeforeTraining) {
  const std::string text = kScalar + "lr_policy: \"fixed\" base_lr: 1 snapshot_after_train: false ";
  const auto expect = [&](const std::string& field, const std::string& message) {
    const bool length = field.find("max_iter") != std::string::npos;
    const std::string error = construction_error(text + field + (length ? "" : " max_iter: 1"));
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  EXPECT_NE(construction_error(text).find("max_iter is missing"), std::string::npos);
  expect("max_iter: -1", "max_iter is -1; it cannot be negative");
  expect("iter_size: 0", "iter_size is 0; it must be > 0");
  expect("average_loss: 0", "average_loss is 0; it must be > 0");
  expect("weight_decay: 1 regularization_type: \"L3\"",
         "regularization_type \"L3\" is not known; it can be L1 or L2");
  expect("type: \"SDG\"", "did you mean \"SGD\"?");
  EXPECT_EQ(construction_error(text + "max_iter: 1 regularization_type: \"L3\""),
            "");  // nobody asks for it
}

TEST(SolverTest, WeightsAreLoadedBeforeTraining) {
  Training first(kScalar + "max_iter: 3");
  first.solver.solve();
  SolverOptions options;
  options.weights = first.scratch.path("s_iter_3.caffemodel");
  Training second(kScalar + "max_iter: 3", options);
  EXPECT_EQ(second.weight(), first.weight());
  EXPECT_EQ(second.solver.iteration(), 0);
}

TEST(SolverTest, WithKeepGoingNanIsNotHidden) {
  SolverOptions options;
  options.keep_going = true;
  Training run(kScalar + "max_iter: 2 display: 1", options);
  run.solver.net().write_param("ip", 0, {std::numeric_limits<float>::quiet_NaN()});
  run.solver.step(2);
  EXPECT_TRUE(std::isnan(run.recorder.displays[1].loss));
  EXPECT_TRUE(std::isnan(run.weight()));
}

TEST(SolverTest, ASnapshotBeyondMaxIterLeavesNothingToDo) {
  Training first(kScalar + "max_iter: 3");
  first.solver.solve();
  SolverOptions options;
  options.snapshots = {first.scratch.path("s_iter_3.solverstate")};
  Training second(kScalar + "max_iter: 2 display: 1", options);
  const LogLines log;
  EXPECT_TRUE(second.solver.solve());
  EXPECT_THAT(log.lines, ElementsAre("Nothing to do: " + options.snapshots[0] +
                                     " is already at iteration 3, max_iter is 2"));
  EXPECT_THAT(second.recorder.snapshots, IsEmpty());
  EXPECT_THAT(second.recorder.displays, IsEmpty());
}

TEST(SolverTest, FieldsThatAreHardlyMeantAreWarnedOf) {
  const auto warnings_of = [](const std::string& text) {
    const LogLines log;
    Training run(kScalar + "max_iter: 3 " + text);
    std::vector<std::string> texts;
    for (const std::string& line : log.warnings) texts.push_back(line.substr(line.find(": ") + 2));
    return texts;
  };
  const std::string zero = ": the rate is 0 from ", stays = ": the rate stays ";
  const auto policy = [](const std::string& name) { return "lr_policy: \"" + name + "\" "; };
  const auto no = [](const std::string& name, const std::string& field) {
    return "lr_policy \"" + name + "\" has no " + field;
  };
  EXPECT_THAT(warnings_of(policy("step") + "stepsize: 1"),
              ElementsAre(no("step", "gamma") + zero + "the first step on"));
  EXPECT_THAT(warnings_of(policy("exp")),
              ElementsAre(no("exp", "gamma") + zero + "iteration 1 on"));
  EXPECT_THAT(warnings_of(policy("inv")), ElementsAre(no("inv", "gamma") + stays + "base_lr",
                                                      no("inv", "power") + stays + "base_lr"));
  EXPECT_THAT(warnings_of(policy("multistep") + "gamma: 0.1"),
              ElementsAre(no("multistep", "stepvalue") + stays + "base_lr"));
  EXPECT_THAT(warnings_of(policy("poly")), ElementsAre(no("poly", "power") + stays + "base_lr"));
  EXPECT_THAT(warnings_of(policy("sigmoid") + "stepsize: 1"),
              ElementsAre(no("sigmoid", "gamma") + stays + "half of base_lr"));
  EXPECT_THAT(warnings_of(policy("plateau") + "plateau_winsize: 5"),
              ElementsAre(no("plateau", "gamma") + zero + "its first drop on"));
  EXPECT_THAT(warnings_of("momentum: 1"),
              ElementsAre("momentum is 1; values that make sense are in [0, 1)"));
  EXPECT_THAT(warnings_of("type: \"Adam\" momentum: -0.5 momentum2: 1.5 weight_decay: -1"),
              ElementsAre("momentum is -0.5; values that make sense are in [0, 1)",
                          "momentum2 is 1.5; values that make sense are in [0, 1)",
                          "weight_decay is -1; a negative one makes no sense"));
  EXPECT_THAT(warnings_of("momentum: 0.9 weight_decay: 0.1"), IsEmpty());
}

}  // namespace
}  // namespace crema
