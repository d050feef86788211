#include "snapshot_comparison.h"

#include <algorithm>

#include "base/error.h"
#include "hdf5_values.h"
#include "proto/blobs.h"
#include "proto/io.h"
#include "proto/solver_state.h"
#include "proto/weights.h"

namespace crema::conformance {
namespace {

void compare_layer(const std::string& file, const StoredLayer& layer, const StoredLayer& expected,
                   double tolerance, Report* report) {
  const std::string where = fmt::format("{}: layer \"{}\"", file, layer.name);
  report->check(layer.name == expected.name && layer.type == expected.type,
                fmt::format("{} ({}), expected \"{}\" ({})", where, layer.type, expected.name,
                            expected.type));
  if (layer.blobs.size() != expected.blobs.size()) {
    report->fail(fmt::format("{} has {} blobs, expected {}", where, layer.blobs.size(),
                             expected.blobs.size()));
    return;
  }
  for (std::size_t i = 0; i < layer.blobs.size(); ++i) {
    const StoredBlob &blob = layer.blobs[i], &other = expected.blobs[i];
    const std::string what = fmt::format("{} blob {}", where, i);
    report->check(blob.present == other.present && blob.legacy == other.legacy,
                  what + " is stored in another form");
    report->compare(what, blob.shape, blob.data, Array{other.shape, other.data}, tolerance);
  }
}

/// Gradients by "LAYER/INDEX", in whatever format.
Values gradients_of(const std::string& file) {
  if (weight_format(file) == WeightFormat::kHdf5) return values_below(read_values(file), "diff");
  caffe::NetParameter net;
  read_binary(file, &net);
  Values gradients;
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (int i = 0; i < layer.blobs_size(); ++i) {
      const caffe::BlobProto& blob = layer.blobs(i);
      if (blob.diff_size() == 0) continue;
      gradients[fmt::format("{}/{}", layer.name(), i)] = {
          stored_shape(blob), std::vector<float>(blob.diff().begin(), blob.diff().end())};
    }
  }
  return gradients;
}

void compare_gradients(const std::string& file, const std::string& expected_file, double tolerance,
                       Report* report) {
  const Values gradients = gradients_of(file), expected = gradients_of(expected_file);
  report->check(
      gradients.size() == expected.size(),
      fmt::format("{} holds {} gradients, expected {}", file, gradients.size(), expected.size()));
  for (const auto& [path, array] : expected) {
    const auto found = gradients.find(path);
    if (found == gradients.end()) {
      report->fail(fmt::format("{} has no gradient of {}", file, path));
    } else {
      report->compare(fmt::format("{}: gradient of {}", file, path), found->second.shape,
                      found->second.values, array, tolerance);
    }
  }
}

}  // namespace

void compare_weight_files(const std::string& file, const std::string& expected_file,
                          double tolerance, Report* report) {
  const StoredWeights weights = read_weights(file), expected = read_weights(expected_file);
  report->check(weights.layers.size() == expected.layers.size(),
                fmt::format("{} has {} layers, expected {}", file, weights.layers.size(),
                            expected.layers.size()));
  const std::size_t count = std::min(weights.layers.size(), expected.layers.size());
  for (std::size_t i = 0; i < count; ++i) {
    compare_layer(file, weights.layers[i], expected.layers[i], tolerance, report);
  }
  compare_gradients(file, expected_file, tolerance, report);
}

void compare_solver_states(const std::string& file, const std::string& expected_file,
                           double tolerance, Report* report) {
  const caffe::SolverState state = read_solver_state(file);
  const caffe::SolverState expected = read_solver_state(expected_file);
  report->check(state.iter() == expected.iter(),
                fmt::format("{}: iter {}, expected {}", file, state.iter(), expected.iter()));
  report->check(state.learned_net() == expected.learned_net(),
                fmt::format("{}: learned_net \"{}\", expected \"{}\"", file, state.learned_net(),
                            expected.learned_net()));
  report->check(state.current_step() == expected.current_step(),
                fmt::format("{}: current_step {}, expected {}", file, state.current_step(),
                            expected.current_step()));
  report->check(state.history_size() == expected.history_size(),
                fmt::format("{}: {} history blobs, expected {}", file, state.history_size(),
                            expected.history_size()));
  for (int i = 0; i < std::min(state.history_size(), expected.history_size()); ++i) {
    report->compare(fmt::format("{}: history {}", file, i), stored_shape(state.history(i)),
                    values(state.history(i)),
                    Array{stored_shape(expected.history(i)), values(expected.history(i))},
                    tolerance);
  }
}

}  // namespace crema::conformance
