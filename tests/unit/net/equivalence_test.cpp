// One net in many forms, one result: kept or not, fused or not, any layout, any number of threads,
// run after run.
#include <thread>

#include "net/executor.h"
#include "net/param_store.h"
#include "random_nets.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

struct Outcome {
  std::vector<float> losses;
  std::map<std::string, std::vector<float>> outputs;
  std::vector<std::vector<float>> gradients;  // of the parameters, sums over the passes

  bool operator==(const Outcome&) const = default;
};

void expect_same(const Outcome& actual, const Outcome& expected, double tolerance,
                 const std::string& what) {
  expect_near(actual.losses, expected.losses, tolerance, what + ", losses");
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size()) << what;
  for (const auto& [name, values] : expected.outputs) {
    expect_near(actual.outputs.at(name), values, tolerance, what + ", output " + name);
  }
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size()) << what;
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    expect_near(actual.gradients[i], expected.gradients[i], tolerance,
                what + ", gradient " + std::to_string(i));
  }
}

NetOptions options_of(bool keep_all) {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  options.seed = 11;
  options.keep_all = options.expose_gradients = keep_all;
  return options;
}

Outcome run(const std::string& text, const NetOptions& options, Device& device) {
  Net net(net_of(text), device, options);
  Outcome outcome;
  net.clear_gradients();
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    net.write_blob("x", random_values(net.shape("x").count(), 20 + pass));
    net.write_blob("label", random_labels(net.shape("label").count(), 3, 30 + pass));
    outcome.losses.push_back(net.forward());
    net.backward();
  }
  for (const std::string& name : net.outputs()) outcome.outputs[name] = net.read_blob(name);
  for (const Parameter& parameter : net.parameters()) {
    outcome.gradients.push_back(net.read_param_gradient(parameter.layer, parameter.index));
  }
  return outcome;
}

/// Without the fuse and layout passes: every layer by itself and plain.
Outcome run_plain(const std::string& text, Device& device) {
  const NetOptions options = options_of(false);
  Graph graph = build_graph(net_of(text), options.state, options.seed, {});
  infer(graph);
  differentiate(graph, true);
  ParamStore params(graph, device, true, options.seed, {});
  Executor executor(graph, device, params, {true, true});
  const Buffer arena(device, executor.memory().arena_bytes);
  executor.bind(arena.floats());
  Outcome outcome;
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    const Tensor& x = executor.data(graph.blobs.at("x"));
    const Tensor& label = executor.data(graph.blobs.at("label"));
    write_plain(x, random_values(x.shape().count(), 20 + pass).data());
    write_plain(label, random_labels(label.shape().count(), 3, 30 + pass).data());
    outcome.losses.push_back(executor.forward(pass));
    executor.backward(pass);
  }
  for (const int output : graph.outputs) {
    outcome.outputs[graph.values[static_cast<std::size_t>(output)].blob] =
        read_plain(executor.data(output));
  }
  params.finish_gradients();
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    outcome.gradients.push_back(read_plain(params.gradient(static_cast<int>(i))));
  }
  return outcome;
}

TEST(EquivalenceTest, KeepingEverythingChangesNothing) {
  const auto device = make_cpu_device(1);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = random_net(seed);
    expect_same(run(text, options_of(false), *device), run(text, options_of(true), *device), 1e-5,
                "seed " + std::to_string(seed));
  }
}

TEST(EquivalenceTest, FusionAndLayoutsChangeNothing) {
  const auto device = make_cpu_device(1);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = random_net(seed, false);
    expect_same(run(text, options_of(false), *device), run_plain(text, *device), 2e-5,
                "seed " + std::to_string(seed));
  }
}

TEST(EquivalenceTest, ThreadsChangeNothing) {
  const auto one = make_cpu_device(1), two = make_cpu_device(2);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::string text = random_net(seed, false);
    const Outcome expected = run(text, options_of(false), *one);
    const Outcome actual = run(text, options_of(false), *two);
    expect_same(actual, expected, 1e-5, "seed " + std::to_string(seed));
    // At one number of threads every bit is the same.
    EXPECT_TRUE(run(text, options_of(false), *one) == expected) << seed;
    EXPECT_TRUE(run(text, options_of(false), *two) == actual) << seed;
  }
}

TEST(EquivalenceTest, NetsInTwoThreadsDoNotMeet) {
  const std::string text = random_net(5);
  const auto device = make_cpu_device(1);
  const Outcome expected = run(text, options_of(false), *device);
  bool same[2] = {true, true};
  std::vector<std::thread> threads;
  for (bool& result : same) {
    threads.emplace_back([&result, &text, &expected] {
      const auto own = make_cpu_device(1);
      for (int i = 0; i < 10; ++i) {
        result &= run(text, options_of(false), *own) == expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(same[0]);
  EXPECT_TRUE(same[1]);
}

TEST(EquivalenceTest, AFusedReluGivesWhatAKeptOneGives) {
  const std::string text = input_layer("x", "4x6") + input_layer("label", "4") + R"(
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a"
  inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
layer { name: "r" type: "ReLU" bottom: "a" top: "r" relu_param { negative_slope: 0.1 } }
layer { name: "b" type: "InnerProduct" bottom: "r" top: "b"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "l" type: "SoftmaxWithLoss" bottom: "b" bottom: "label" top: "l" })";
  const auto device = make_cpu_device(1);
  const Net fused(net_of(text), *device, options_of(false));
  const Net kept(net_of(text), *device, options_of(true));
  EXPECT_TRUE(node_of(fused.graph(), "a").fused_relu);
  EXPECT_FALSE(node_of(kept.graph(), "a").fused_relu);
  expect_same(run(text, options_of(false), *device), run(text, options_of(true), *device), 1e-6,
              "fused");
}

TEST(EquivalenceTest, SharedParametersOfTwoShapesAreOneMemory) {
  // The two convolutions see the same 144 weights as 8x2x3x3 and as 2x8x3x3.
  const std::string text = input_layer("x", "3x2x6x6") + input_layer("label", "3") + R"(
layer { name: "a" type: "Convolution" bottom: "x" top: "a" param { name: "w" }
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "b" type: "Convolution" bottom: "a" top: "b" param { name: "w" share_mode: PERMISSIVE }
  convolution_param { num_output: 2 kernel_size: 3 } }
layer { name: "ip" type: "InnerProduct" bottom: "b" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "l" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "l" })";
  const auto device = make_cpu_device(1);
  expect_same(run(text, options_of(false), *device), run_plain(text, *device), 1e-5, "permissive");
}

TEST(EquivalenceTest, SharedProductsOnDifferentInputsAgreeWithPlainOnes) {
  const std::string product =
      "param { name: \"w\" } param { name: \"b\" } inner_product_param { num_output: 3 "
      "weight_filler { type: \"xavier\" } } }\n";
  const std::string text = input_layer("x", "4x72") + input_layer("label", "4") +
                           input_layer("image", "4x1x5x5") + R"(
layer { name: "c" type: "Convolution" bottom: "image" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "p" type: "InnerProduct" bottom: "c" top: "p" )" +
                           product + "layer { name: \"q\" type: \"InnerProduct\" bottom: \"x\" " +
                           "top: \"q\" " + product + R"(
layer { name: "d" type: "EuclideanLoss" bottom: "p" bottom: "q" top: "d" }
layer { name: "l" type: "SoftmaxWithLoss" bottom: "q" bottom: "label" top: "l" })";
  const auto device = make_cpu_device(1);
  expect_same(run(text, options_of(false), *device), run_plain(text, *device), 1e-5, "shared");
}

}  // namespace
}  // namespace crema
