// What the tests of this folder share: nets from text, nodes and values by name, random numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "../proto/scratch.h"
#include "base/philox.h"
#include "base/text.h"
#include "net/compile.h"
#include "net/net.h"
#include "proto/io.h"

namespace crema::testing {

inline caffe::NetParameter net_of(const std::string& text) {
  return parse_net(text, "net.prototxt");
}

inline caffe::NetState state_of(caffe::Phase phase, int level = 0,
                                const std::vector<std::string>& stages = {}) {
  caffe::NetState state;
  state.set_phase(phase);
  state.set_level(level);
  for (const std::string& stage : stages) state.add_stage(stage);
  return state;
}

inline FilteredNet filtered(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  return filter(net_of(text), state_of(phase));
}

/// Built and with shapes.
inline Graph inferred(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  Graph graph = build_graph(net_of(text), state_of(phase), 0, {});
  infer(graph);
  return graph;
}

inline Graph differentiated(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  Graph graph = inferred(text, phase);
  differentiate(graph, true);
  return graph;
}

inline const Node& node_of(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.name() == name) return node;
  }
  throw std::out_of_range("no node " + name);
}

/// The last value of a blob.
inline const Value& value_of(const Graph& graph, const std::string& blob) {
  return graph.values[static_cast<std::size_t>(graph.blobs.at(blob))];
}

inline std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name());
  return names;
}

/// Values in [-scale, scale), the same for the same seed.
inline std::vector<float> random_values(std::int64_t count, std::uint64_t seed, float scale = 1) {
  const RandomStream stream(seed, 77);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * (2 * stream.uniform(0, i) - 1);
  }
  return values;
}

/// Whole numbers in 0 .. classes-1.
inline std::vector<float> random_labels(std::int64_t count, std::uint32_t classes,
                                        std::uint64_t seed) {
  const RandomStream stream(seed, 78);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(stream.below(0, i, classes));
  }
  return values;
}

/// Relative to the largest value expected; what is below 0.1 throughout may be a difference of
/// larger things.
inline void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                        double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = 0.1;
  for (const float value : expected) scale = std::max(scale, std::abs(double{value}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * scale) << what << "[" << i << "]";
  }
}

inline std::string model(const std::string& path) {
  return std::string(CREMA_SOURCE_DIR) + "/models/" + path;
}

inline std::string input_layer(const std::string& blob, const std::string& dims) {
  std::string shape;
  for (const std::string& dim : split(dims, 'x')) shape += " dim: " + dim;
  return "layer { name: \"" + blob + "\" type: \"Input\" top: \"" + blob +
         "\" input_param { shape {" + shape + " } } }\n";
}

}  // namespace crema::testing
