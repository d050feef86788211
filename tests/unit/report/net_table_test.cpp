#include "report/net_table.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "net/compile.h"
#include "proto/io.h"

namespace crema {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const kNet = R"(
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 16 dim: 16 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 8 kernel_size: 3 } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" param { name: "w" }
        inner_product_param { num_output: 10 } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
)";

struct Planned {
  std::unique_ptr<Device> device = make_cpu_device(1);
  Graph graph;
  std::vector<std::unique_ptr<Op>> ops;
  MemoryPlan memory;

  explicit Planned(bool backward) {
    caffe::NetState state;
    state.set_phase(backward ? caffe::TRAIN : caffe::TEST);
    graph = compile(parse_net(kNet, "net.prototxt"), state, *device, backward, {});
    ops = plan_ops(graph, *device);
    memory = plan_memory(graph, op_memory(ops), backward, false);
  }
};

/// The line that starts with `name`.
std::string line_of(const std::string& text, const std::string& name) {
  for (const std::string& line : split(text, '\n')) {
    if (line.rfind(name, 0) == 0) return line;
  }
  return "";
}

TEST(AlignColumnsTest, PadsLeftAndRight) {
  EXPECT_EQ(align_columns({{"a", "long name", "1"}, {"bcd", "x", "12,345"}}, 2),
            "a    long name       1\n"
            "bcd  x          12,345\n");
}

TEST(AlignColumnsTest, LeavesNoSpacesAtTheEnd) {
  EXPECT_EQ(align_columns({{"a", ""}, {"b", "long"}}, 2), "a\nb  long\n");
  EXPECT_EQ(align_columns({}, 1), "");
  EXPECT_EQ(align_columns({{"only"}}, 0), "only\n");
}

TEST(AlignColumnsTest, ARowIsOneLine) {
  EXPECT_EQ(align_columns({{"a\nb", "x"}, {"\x1b[2J", "y"}}, 2),
            "a\\nb     x\n"
            "\\x1b[2J  y\n");
}

TEST(NetTableTest, HasALineALayerAndTotals) {
  const Planned planned(false);
  const std::string table = net_table(planned.graph, planned.memory, false);
  EXPECT_THAT(line_of(table, "conv "), HasSubstr("Convolution"));
  EXPECT_THAT(line_of(table, "conv "), HasSubstr("2x8x14x14"));
  EXPECT_THAT(line_of(table, "conv "), HasSubstr("224"));      // 8*3*3*3 + 8
  EXPECT_THAT(line_of(table, "conv "), HasSubstr("84,672"));   // 2*14*14*8*27
  EXPECT_THAT(line_of(table, "conv "), HasSubstr("12.5 KB"));  // 2*8*14*14*4
  EXPECT_THAT(line_of(table, "ip "), HasSubstr("15,690"));     // 10*1568 + 10
  EXPECT_THAT(table, HasSubstr("phase TEST, 15,914 parameters, "));
  EXPECT_THAT(table, Not(HasSubstr("Reorder")));
  EXPECT_THAT(table, Not(HasSubstr("gradients")));
  // All lines of layers end in the same column.
  const std::size_t width = line_of(table, "layer").size();
  for (const char* name : {"x ", "conv ", "ip ", "relu "}) {
    EXPECT_EQ(line_of(table, name).size(), width) << table;
  }
}

TEST(NetTableTest, TrainingSaysThatThereAreGradients) {
  const Planned planned(true);
  const std::string table = net_table(planned.graph, planned.memory, true);
  EXPECT_THAT(table, HasSubstr("phase TRAIN"));
  EXPECT_THAT(table, HasSubstr("activations and their gradients"));
}

TEST(NetEnginesTest, SaysWhatRunsWhere) {
  const Planned planned(false);
  const std::string engines = net_engines(planned.graph, planned.ops);
  EXPECT_THAT(engines, HasSubstr("relu: runs inside the layer before it\n"));
  EXPECT_THAT(engines, HasSubstr("reorder of x (plain to channels-last)"));
  EXPECT_THAT(line_of(engines, "conv: "), HasSubstr("channels-last -> channels-last, parameter "));
  EXPECT_THAT(line_of(engines, "ip: "), HasSubstr("parameter channels-last weights"));
}

}  // namespace
}  // namespace crema
