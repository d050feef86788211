// What the tests of this folder share: a small problem on disk and a solver for it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "../proto/scratch.h"
#include "base/files.h"
#include "base/philox.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"
#include "proto/text.h"
#include "solver/solver.h"

namespace crema::testing {

inline caffe::SolverParameter solver_of(const std::string& text) {
  caffe::SolverParameter solver;
  parse_text(text, "solver.prototxt", &solver);
  return solver;
}

/// The text of a user error about a solver without the line in front.
template <class Body>
std::string solver_error(const Body& body) {
  const std::string text = error_of(body);
  const std::string file = "solver.prototxt:";
  if (text.rfind(file, 0) != 0) return text;
  return text.substr(text.find(": ", file.size()) + 2);
}

/// 23 rows of six random numbers in two HDF5 files, each row in one of three classes.
inline std::string make_rows(const Scratch& scratch) {
  const RandomStream stream(1, 5);
  std::string list;
  for (const int rows : {13, 10}) {
    std::vector<float> data, labels;
    for (int r = 0; r < rows; ++r) {
      const auto row = static_cast<std::uint64_t>(100 * rows + r);
      for (std::uint64_t i = 0; i < 6; ++i) data.push_back(stream.uniform(row, i) - 0.5f);
      labels.push_back(static_cast<float>(stream.below(row, 6, 3)));
    }
    const std::string path = scratch.path("rows" + std::to_string(rows) + ".h5");
    const Hdf5Lock lock;
    const hdf5::Handle file = hdf5::create_in_memory();
    hdf5::write_floats(file, "data", Shape{rows, 6}, data.data());
    hdf5::write_floats(file, "label", Shape{rows}, labels.data());
    write_file_atomically(path, hdf5::image(file));
    list += path + "\n";
  }
  return scratch.write("rows.txt", list);
}

/// Two inner products with dropout between them; the test net scores the same rows.
inline std::string classifier(const std::string& rows) {
  return R"(
    layer { name: "data" type: "HDF5Data" top: "data" top: "label" include { phase: TRAIN }
            hdf5_data_param { source: ")" +
         rows + R"(" batch_size: 4 shuffle: true } }
    layer { name: "data" type: "HDF5Data" top: "data" top: "label" include { phase: TEST }
            hdf5_data_param { source: ")" +
         rows + R"(" batch_size: 5 } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
            inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
    layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy"
            include { phase: TEST } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";
}

/// Keeps all that a solver tells.
class Recorder : public TrainingListener {
 public:
  void on_iteration(int iteration) override {
    if (at_iteration) at_iteration(iteration);
  }
  void on_display(const TrainingProgress& progress) override { displays.push_back(progress); }
  void on_test_start(int iteration, int net) override {
    tests_started.emplace_back(iteration, net);
    if (at_test) at_test(iteration);
  }
  void on_test(const TestScores& test) override { tests.push_back(test); }
  void on_snapshot(const std::string&, const std::string& state) override {
    snapshots.push_back(boost::filesystem::path(state).filename().string());
  }

  std::function<void(int)> at_iteration, at_test;
  std::vector<TrainingProgress> displays;
  std::vector<std::pair<int, int>> tests_started;
  std::vector<TestScores> tests;
  std::vector<std::string> snapshots;
};

inline std::vector<std::vector<float>> all_params(Net& net) {
  std::vector<std::vector<float>> values;
  for (const Parameter& parameter : net.parameters()) {
    values.push_back(net.read_params(parameter.layer)[static_cast<std::size_t>(parameter.index)]);
  }
  return values;
}

}  // namespace crema::testing
