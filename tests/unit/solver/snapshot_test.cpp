#include "solver/snapshot.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "proto/io.h"
#include "proto/solver_state.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string newest_snapshot(const std::string& prefix) {
  const std::vector<std::string> states = snapshots_of(prefix);
  return states.empty() ? "" : states.front();
}

/// A state and weights, readable but of no net in particular.
void write_snapshot(const std::string& prefix, int iteration, WeightFormat format) {
  const SnapshotFiles files = snapshot_files(prefix, iteration, format);
  caffe::NetParameter net;
  caffe::LayerParameter* layer = net.add_layer();
  layer->set_name("a");
  layer->set_type("InnerProduct");
  layer->add_blobs()->mutable_shape()->add_dim(1);
  layer->mutable_blobs(0)->add_data(1);
  write_weights(net, files.weights, format);
  caffe::SolverState state;
  state.set_iter(iteration);
  state.set_learned_net(files.weights);
  write_solver_state(state, files.state, format);
}

TEST(SnapshotFilesTest, AreNamedAsInCaffe) {
  const SnapshotFiles binary = snapshot_files("out/lenet", 500, WeightFormat::kBinary);
  EXPECT_EQ(binary.weights, "out/lenet_iter_500.caffemodel");
  EXPECT_EQ(binary.state, "out/lenet_iter_500.solverstate");
  const SnapshotFiles hdf5 = snapshot_files("lenet", 7, WeightFormat::kHdf5);
  EXPECT_EQ(hdf5.weights, "lenet_iter_7.caffemodel.h5");
  EXPECT_EQ(hdf5.state, "lenet_iter_7.solverstate.h5");
}

TEST(OldSnapshotsTest, AreDeletedByNumberAndExactName) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  for (const int iteration : {5, 9, 10, 20, 30}) {
    write_snapshot(prefix, iteration, WeightFormat::kBinary);
  }
  write_snapshot(prefix, 8, WeightFormat::kHdf5);
  write_snapshot(scratch.path("ab"), 1, WeightFormat::kBinary);
  const std::vector<std::string> others = {"a_iter_007.solverstate", "a_iter_007.caffemodel",
                                           "a_iter_3.caffemodel",    "a_iter_4.solverstate.bak",
                                           "a_best.solverstate",     "a_iter_x.solverstate"};
  for (const std::string& name : others) scratch.write(name, "x");
  // 20 was written just now; 30 is of a run that went further.
  delete_old_snapshots(prefix, 20, 3);
  std::vector<std::string> left;
  for (const auto& entry : boost::filesystem::directory_iterator(scratch.folder())) {
    left.push_back(entry.path().filename().string());
  }
  std::vector<std::string> expected = others;
  for (const char* name : {"a_iter_9", "a_iter_10", "a_iter_20", "a_iter_30", "ab_iter_1"}) {
    expected.push_back(std::string(name) + ".caffemodel");
    expected.push_back(std::string(name) + ".solverstate");
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAreArray(expected));
  delete_old_snapshots(prefix, 20, 1);
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_30.solverstate");
  EXPECT_FALSE(boost::filesystem::exists(prefix + "_iter_9.caffemodel"));
  EXPECT_FALSE(boost::filesystem::exists(prefix + "_iter_10.solverstate"));
}

TEST(NewestSnapshotTest, IsTheHighestIterationOfThePrefix) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  EXPECT_EQ(newest_snapshot(prefix), "");
  EXPECT_EQ(newest_snapshot(scratch.path("none/a")), "");
  write_snapshot(prefix, 9, WeightFormat::kBinary);
  write_snapshot(prefix, 10, WeightFormat::kBinary);
  write_snapshot(prefix, 2, WeightFormat::kHdf5);
  write_snapshot(scratch.path("ab"), 50, WeightFormat::kBinary);
  scratch.write("a_iter_x.solverstate", "");
  scratch.write("a_iter_.solverstate", "");
  scratch.write("a_iter_99.solverstate.tmp", "");
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_10.solverstate");
  write_snapshot(prefix, 11, WeightFormat::kHdf5);
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_11.solverstate.h5");
}

TEST(FirstUsableWeightsTest, PassesOverBrokenSnapshots) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  for (const int iteration : {1, 2, 3, 4}) {
    write_snapshot(prefix, iteration, WeightFormat::kBinary);
  }
  // The weights of 4 are gone, those of 3 cut short, the state of 2 is something else.
  boost::filesystem::remove(prefix + "_iter_4.caffemodel");
  boost::filesystem::resize_file(prefix + "_iter_3.caffemodel", 5);
  scratch.write("a_iter_2.solverstate", "<html>");
  EXPECT_EQ(first_usable_weights(snapshots_of(prefix)).file, prefix + "_iter_1.caffemodel");
  // When none is left, the error is that of the last.
  boost::filesystem::remove(prefix + "_iter_1.solverstate");
  EXPECT_NE(
      error_of([&] { first_usable_weights(snapshots_of(prefix)); }).find("a_iter_2.solverstate"),
      std::string::npos);
}

TEST(NewestSnapshotTest, APrefixWithoutFolderMeansTheWorkingFolder) {
  const Scratch scratch;
  const auto before = boost::filesystem::current_path();
  boost::filesystem::current_path(scratch.folder());
  write_snapshot("a", 3, WeightFormat::kBinary);
  EXPECT_EQ(newest_snapshot("a"), "a_iter_3.solverstate");
  boost::filesystem::current_path(before);
}

TEST(SnapshotsOfTest, AreAllOfThePrefixNewestFirst) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  for (const int iteration : {8, 9, 10}) {
    write_snapshot(prefix, iteration, WeightFormat::kBinary);
  }
  EXPECT_THAT(snapshots_of(prefix),
              ElementsAre(prefix + "_iter_10.solverstate", prefix + "_iter_9.solverstate",
                          prefix + "_iter_8.solverstate"));
}

TEST(ResolveSnapshotsTest, TakesAFileAnIterationOrAuto) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  write_snapshot(prefix, 3, WeightFormat::kBinary);
  write_snapshot(prefix, 5, WeightFormat::kHdf5);
  EXPECT_THAT(resolve_snapshots("some/file.solverstate", prefix),
              ElementsAre("some/file.solverstate"));
  EXPECT_THAT(resolve_snapshots("3", prefix), ElementsAre(prefix + "_iter_3.solverstate"));
  EXPECT_THAT(resolve_snapshots("5", prefix), ElementsAre(prefix + "_iter_5.solverstate.h5"));
  EXPECT_THAT(resolve_snapshots("auto", prefix),
              ElementsAre(prefix + "_iter_5.solverstate.h5", prefix + "_iter_3.solverstate"));
  EXPECT_THAT(resolve_snapshots("auto", scratch.path("b")), IsEmpty());
  EXPECT_EQ(error_of([&] { resolve_snapshots("4", prefix); }),
            "there is no snapshot of iteration 4: neither " + prefix + "_iter_4.solverstate nor " +
                prefix + "_iter_4.solverstate.h5 exists");
}

TEST(StaleTemporariesTest, ThoseOfDeadProcessesAndOfThisPrefixGo) {
  const Scratch scratch;
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const std::string gone = "." + std::to_string(dead) + ".tmp";
  const std::string alive = "." + std::to_string(::getppid()) + ".tmp";
  for (const std::string& name :
       {"a_iter_5.caffemodel" + gone, "a_iter_5.caffemodel" + alive, "b_iter_5.caffemodel" + gone,
        std::string("a_iter_4.tmp"), std::string("a_iter_5.caffemodel")}) {
    scratch.write(name, "x");
  }
  remove_stale_temporaries(scratch.path("a"));
  EXPECT_FALSE(boost::filesystem::exists(scratch.path("a_iter_5.caffemodel" + gone)));
  for (const std::string& name :
       {"a_iter_5.caffemodel" + alive, "b_iter_5.caffemodel" + gone, std::string("a_iter_4.tmp"),
        std::string("a_iter_5.caffemodel")}) {
    EXPECT_TRUE(boost::filesystem::exists(scratch.path(name))) << name;
  }
}

TEST(WeightsOfStateTest, MayHaveMovedBesideTheState) {
  const Scratch scratch;
  write_snapshot(scratch.path("a"), 3, WeightFormat::kBinary);
  boost::filesystem::create_directory(scratch.path("moved"));
  for (const char* ending : {"caffemodel", "solverstate"}) {
    const std::string name = std::string("a_iter_3.") + ending;
    boost::filesystem::rename(scratch.path(name), scratch.path("moved/" + name));
  }
  const std::string state = scratch.path("moved/a_iter_3.solverstate");
  EXPECT_EQ(weights_of_state(read_solver_state(state), state),
            scratch.path("moved/a_iter_3.caffemodel"));
  EXPECT_EQ(newest_snapshot(scratch.path("moved/a")), state);
  boost::filesystem::remove(scratch.path("moved/a_iter_3.caffemodel"));
  EXPECT_EQ(error_of([&] { weights_of_state(read_solver_state(state), state); }),
            "the weights of " + state + " are not there: neither " +
                scratch.path("moved/a_iter_3.caffemodel") + " nor " +
                scratch.path("a_iter_3.caffemodel") + " exists");
  EXPECT_EQ(error_of([&] { weights_of_state(caffe::SolverState(), "s"); }),
            "s names no weights (learned_net)");
}

TEST(FirstUsableWeightsTest, PassesOverBrokenNumbersWhereThereAreOthers) {
  const Scratch scratch;
  const std::string prefix = scratch.path("a");
  for (const int iteration : {1, 2}) write_snapshot(prefix, iteration, WeightFormat::kBinary);
  const std::string newest = prefix + "_iter_2.caffemodel";
  caffe::NetParameter net = read_net(newest);
  net.mutable_layer(0)->mutable_blobs(0)->set_data(0, std::nanf(""));
  write_weights(net, newest, WeightFormat::kBinary);
  EXPECT_EQ(first_usable_weights(snapshots_of(prefix)).file, prefix + "_iter_1.caffemodel");
  EXPECT_EQ(first_usable_weights({prefix + "_iter_2.solverstate"}).file, newest);
}

}  // namespace
}  // namespace crema
