#include "proto/solver_state.h"

#include <gtest/gtest.h>

#include "proto/hdf5.h"
#include "proto/text.h"
#include "scratch.h"

namespace crema {
namespace {

using testing::error_of;
using testing::Scratch;

caffe::SolverState sample() {
  caffe::SolverState state;
  parse_text(
      "iter: 1200 learned_net: \"x_iter_1200.caffemodel\" current_step: 2 "
      "history { shape { dim: 2 } data: [1, 2] } history { shape { } data: 3 } "
      "crema_training { seed: 18446744073709551615 forward_passes: 2400 "
      "data { net: \"train\" layer: \"d\" records: 5000000000 } smoothed_losses: [0.5, 0.25] "
      "smoothed_loss: 0.375 threads: 2 start_iter: 3 }",
      "s", &state);
  return state;
}

TEST(SolverState, RoundTrip) {
  const Scratch scratch;
  for (const char* name : {"x.solverstate", "x.solverstate.h5"}) {
    const std::string path = scratch.path(name);
    write_solver_state(sample(), path, weight_format(path));
    EXPECT_EQ(read_solver_state(path).SerializeAsString(), sample().SerializeAsString()) << name;
  }
}

TEST(SolverState, Hdf5FormIsThatOfCaffe) {
  const Scratch scratch;
  const std::string path = scratch.path("x.h5");
  write_solver_state(sample(), path, WeightFormat::kHdf5);
  const auto file = hdf5::open_file(path);
  EXPECT_EQ(hdf5::dataset_shape(file, "iter"), Shape{1});
  EXPECT_EQ(hdf5::read_int(file, "current_step"), 2);
  EXPECT_EQ(hdf5::read_string(file, "learned_net"), "x_iter_1200.caffemodel");
  const auto history = hdf5::open_group(file, "history");
  EXPECT_EQ(hdf5::read_floats(history, "0"), (std::vector<float>{1, 2}));
}

TEST(SolverState, OfCaffeHasNoTrainingState) {
  const Scratch scratch;
  caffe::SolverState state = sample();
  state.clear_crema_training();
  for (const char* name : {"x.solverstate", "x.solverstate.h5"}) {
    const std::string path = scratch.path(name);
    write_solver_state(state, path, weight_format(path));
    EXPECT_FALSE(read_solver_state(path).has_crema_training());
  }
}

TEST(SolverState, OtherFilesAreRefusedByName) {
  const Scratch scratch;
  const auto error_for = [&](const std::string& path) {
    return error_of([&] { read_solver_state(path); });
  };
  caffe::NetParameter net;
  parse_text("name: \"n\" layer { name: \"a\" blobs { data: 1 } }", "n", &net);
  for (const char* name : {"w.caffemodel", "w.caffemodel.h5"}) {
    const std::string path = scratch.path(name);
    write_weights(net, path, weight_format(path));
    EXPECT_EQ(error_for(path),
              path + " is a weights file, not a solver state; did you mean --weights?");
  }
  EXPECT_EQ(error_for(scratch.write("t", "net: \"x\"")),
            scratch.path("t") + " is a text file, not a solver state");
  EXPECT_EQ(error_for(scratch.write("e", "")), scratch.path("e") + " is empty");
  EXPECT_EQ(error_for(scratch.folder()), scratch.folder() + " is a folder, not a solver state");
  const std::string whole = sample().SerializeAsString();
  const std::string cut = error_for(scratch.write("c", whole.substr(0, whole.size() - 3)));
  EXPECT_NE(cut.find("the file is cut short or damaged"), std::string::npos) << cut;
}

}  // namespace
}  // namespace crema
