#include <gtest/gtest.h>

#include "../memory_check.h"
#include "../random_nets.h"
#include "../support.h"
#include "net/executor.h"

namespace crema {
namespace {

using namespace testing;

struct Planned {
  Graph graph;
  MemoryPlan plan;
  std::vector<OpMemory> ops;
};

Planned plan(Graph graph, bool backward, bool expose = false) {
  const auto device = make_cpu_device(1);
  plan_graph(graph, *device, backward, {});
  const auto ops = plan_ops(graph, *device);
  Planned result{std::move(graph), {}, op_memory(ops)};
  result.plan = plan_memory(result.graph, result.ops, backward, expose);
  return result;
}

Planned plan(const std::string& text, bool backward, const std::vector<std::string>& keep = {}) {
  Graph graph = inferred(text);
  for (const std::string& blob : keep) {
    graph.values[static_cast<std::size_t>(graph.blobs.at(blob))].keep = true;
  }
  return plan(std::move(graph), backward);
}

std::size_t place(const Planned& planned, const std::string& blob) {
  return planned.plan.data[static_cast<std::size_t>(planned.graph.blobs.at(blob))];
}

std::string unary(const std::string& type, const std::string& bottom, const std::string& top,
                  const std::string& more = "") {
  return "layer { name: \"" + top + "_" + type + "\" type: \"" + type + "\" bottom: \"" + bottom +
         "\" top: \"" + top + "\" " + more + " }\n";
}
std::string conv(const std::string& bottom, const std::string& top) {
  return unary("Convolution", bottom, top, "convolution_param { num_output: 4 kernel_size: 1 }");
}
const std::string kData = input_layer("x", "2x4x5x5");

/// What the hungriest layer needs in one forward step.
std::size_t largest_step(const Planned& planned) {
  std::size_t largest = 0;
  for (std::size_t n = 0; n < planned.graph.nodes.size(); ++n) {
    const Node& node = planned.graph.nodes[n];
    std::size_t bytes = planned.ops[n].scratch + planned.ops[n].workspace;
    for (const auto* list : {&node.bottoms, &node.tops}) {
      for (const int index : *list) {
        const Value& value = planned.graph.values[static_cast<std::size_t>(index)];
        bytes += static_cast<std::size_t>(value.layout.elements(value.shape)) * sizeof(float);
      }
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

TEST(MemoryTest, RandomNetsShareNothingThatIsAliveAtOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = random_net(seed);
    for (const bool backward : {true, false}) {
      for (const bool expose : {true, false}) {
        if (expose && !backward) continue;
        const Planned planned = plan(inferred(text), backward, expose);
        const std::string conflict =
            memory_conflict(planned.graph, planned.plan, planned.ops, backward);
        ASSERT_EQ(conflict, "") << "seed " << seed << "\n" << text;
      }
    }
  }
}

TEST(MemoryTest, TheModelsShareNothingThatIsAliveAtOnce) {
  const auto check = [](const std::string& path, const Shape& data, caffe::Phase phase) {
    Graph graph = build_graph(read_net(model(path)), state_of(phase), 0, {{"data", data}});
    infer(graph);
    const bool backward = phase == caffe::TRAIN;
    const Planned planned = plan(std::move(graph), backward);
    EXPECT_EQ(memory_conflict(planned.graph, planned.plan, planned.ops, backward), "") << path;
    if (backward) {
      EXPECT_LT(static_cast<double>(planned.plan.arena_bytes),
                0.8 * static_cast<double>(planned.plan.bytes_without_sharing))
          << path;
    } else {
      // One layer at a time: little more than what the hungriest needs.
      EXPECT_LT(static_cast<double>(planned.plan.arena_bytes),
                1.1 * static_cast<double>(largest_step(planned)))
          << path;
    }
  };
  for (const auto phase : {caffe::TRAIN, caffe::TEST}) {
    check("lenet/train_val.prototxt", {64, 1, 28, 28}, phase);
    check("cifar10_quick/train_val.prototxt", {100, 3, 32, 32}, phase);
    check("caffenet/train_val.prototxt", {16, 3, 227, 227}, phase);
    check("alexnet/train_val.prototxt", {16, 3, 227, 227}, phase);
  }
}

TEST(MemoryTest, TheCheckerFindsWhatIsWrong) {
  // Otherwise the tests above mean nothing: each place moved onto every other one must be noticed
  // often enough.
  const Planned good = plan(random_net(3), true);
  ASSERT_EQ(memory_conflict(good.graph, good.plan, good.ops, true), "");
  int moved = 0, found = 0;
  for (auto list : {&MemoryPlan::data, &MemoryPlan::gradient, &MemoryPlan::workspace}) {
    for (std::size_t i = 0; i < (good.plan.*list).size(); ++i) {
      for (std::size_t j = 0; j < good.plan.data.size(); ++j) {
        const std::size_t to = good.plan.data[j];
        if ((good.plan.*list)[i] == MemoryPlan::kNowhere || to == MemoryPlan::kNowhere) continue;
        if ((good.plan.*list)[i] == to) continue;
        MemoryPlan bad = good.plan;
        (bad.*list)[i] = to;
        bad.arena_bytes *= 2;
        ++moved;
        found += memory_conflict(good.graph, bad, good.ops, true).empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(moved, 50);
  EXPECT_GT(found, moved / 2);
}

TEST(MemoryTest, AtTestTimeAChainTakesTwoBlobs) {
  std::string text = kData;
  std::string bottom = "x";
  for (const char* top : {"a", "b", "c", "d", "e", "f"}) {
    text += conv(bottom, top);
    bottom = top;
  }
  const Planned planned = plan(text, false);
  // Neighbours lie apart, every second one in the same place.
  EXPECT_NE(place(planned, "a"), place(planned, "b"));
  EXPECT_EQ(place(planned, "a"), place(planned, "c"));
  EXPECT_EQ(place(planned, "b"), place(planned, "d"));
  EXPECT_LT(planned.plan.arena_bytes, planned.plan.bytes_without_sharing / 2);
}

TEST(MemoryTest, AReluWorksInPlaceWhereNobodyWantsItsInput) {
  for (const bool backward : {true, false}) {
    const Planned planned =
        plan(kData + conv("x", "a") + unary("ReLU", "a", "b") + conv("b", "c"), backward);
    EXPECT_EQ(place(planned, "a"), place(planned, "b"));
  }
}

TEST(MemoryTest, AReluLeavesAloneWhatIsKept) {
  const Planned planned =
      plan(kData + conv("x", "a") + unary("ReLU", "a", "b") + conv("b", "c"), true, {"a"});
  EXPECT_NE(place(planned, "a"), place(planned, "b"));
}

TEST(MemoryTest, AReluLeavesAloneWhatIsReadLater) {
  const Planned planned = plan(
      kData + conv("x", "a") + unary("ReLU", "a", "b") + conv("a", "c") + conv("b", "d"), false);
  EXPECT_NE(place(planned, "a_a_Convolution_0_split_0"), place(planned, "b"));
  EXPECT_EQ(place(planned, "a_a_Convolution_0_split_0"),
            place(planned, "a_a_Convolution_0_split_1"));
}

TEST(MemoryTest, AReluLeavesAloneWhatBackwardReads) {
  // TanH tells its derivative from its top.
  const std::string text =
      kData + conv("x", "a") + unary("TanH", "a", "t") + unary("ReLU", "t", "b", "loss_weight: 1");
  const Planned trained = plan(text, true);
  EXPECT_NE(place(trained, "t"), place(trained, "b"));
  const Planned tested = plan(text, false);
  EXPECT_EQ(place(tested, "t"), place(tested, "b"));
}

std::string sum(const std::string& a, const std::string& b, const std::string& top) {
  return "layer { name: \"" + top + "_sum\" type: \"Eltwise\" bottom: \"" + a + "\" bottom: \"" +
         b + "\" top: \"" + top + "\" }\n";
}

TEST(MemoryTest, ASumLiesOverItsFirstBottom) {
  const Planned planned =
      plan(kData + conv("x", "a") + conv("x", "b") + sum("a", "b", "c") + conv("c", "d"), true);
  EXPECT_EQ(place(planned, "a"), place(planned, "c"));
}

TEST(MemoryTest, ASumDoesNotLieOverAnotherOfItsBottoms) {
  const Planned planned = plan(kData + conv("x", "a") + sum("a", "a", "c") + conv("c", "d"), true);
  EXPECT_EQ(place(planned, "a_a_Convolution_0_split_0"),
            place(planned, "a_a_Convolution_0_split_1"));
  EXPECT_NE(place(planned, "a_a_Convolution_0_split_0"), place(planned, "c"));
}

TEST(MemoryTest, AReluOfNegativeSlopeKeepsItsInput) {
  const Planned planned =
      plan(kData + conv("x", "a") +
               unary("ReLU", "a", "b", "relu_param { negative_slope: -1 } loss_weight: 1"),
           true);
  EXPECT_NE(place(planned, "a"), place(planned, "b"));
}

TEST(MemoryTest, InputsLieOutsideTheArenaAndAreNeverOverwritten) {
  const Planned planned = plan(kData + unary("ReLU", "x", "x") + unary("ReLU", "x", "y"), false);
  const auto input = static_cast<std::size_t>(node_of(planned.graph, "x").tops[0]);
  EXPECT_EQ(planned.plan.persistent[input], static_cast<int>(input));
  EXPECT_EQ(planned.plan.data[input], MemoryPlan::kNowhere);
  EXPECT_NE(place(planned, "x"), MemoryPlan::kNowhere);
}

TEST(MemoryTest, ASplitOfAnInputIsTheInput) {
  const Planned planned = plan(kData + conv("x", "a") + conv("x", "b"), false);
  const auto input = static_cast<std::size_t>(planned.graph.blobs.at("x"));
  for (const char* top : {"x_x_0_split_0", "x_x_0_split_1"}) {
    const auto value = static_cast<std::size_t>(planned.graph.blobs.at(top));
    EXPECT_EQ(planned.plan.persistent[value], static_cast<int>(input));
    EXPECT_EQ(planned.plan.data[value], MemoryPlan::kNowhere);
  }
}

TEST(MemoryTest, LossesAndOutputsLastToTheEnd) {
  const Planned planned = plan(
      kData + conv("x", "a") + unary("ReLU", "a", "out", "loss_weight: 1") + conv("x", "b"), true);
  std::vector<std::size_t> places = {place(planned, "out"), place(planned, "b")};
  EXPECT_NE(places[0], places[1]);
}

TEST(MemoryTest, ExposedGradientsHavePlacesOfTheirOwn) {
  const std::string text =
      "force_backward: true " + kData + conv("x", "a") + unary("ReLU", "a", "b") + conv("b", "c");
  const Planned planned = plan(inferred(text), true, true);
  std::vector<std::size_t> places;
  for (const char* blob : {"x", "a", "b", "c"}) {
    places.push_back(planned.plan.gradient[static_cast<std::size_t>(planned.graph.blobs.at(blob))]);
    EXPECT_NE(places.back(), MemoryPlan::kNowhere) << blob;
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());
}

TEST(MemoryTest, PlacesAreAligned) {
  const Planned planned = plan(random_net(1), true);
  for (const auto* list : {&planned.plan.data, &planned.plan.gradient, &planned.plan.workspace,
                           &planned.plan.scratch, &planned.plan.backward_scratch}) {
    for (const std::size_t offset : *list) {
      if (offset != MemoryPlan::kNowhere) {
        EXPECT_EQ(offset % 64, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace crema
