#include "commands/describe_net.h"

#include <gflags/gflags.h>

#include "base/error.h"
#include "base/tool.h"
#include "common_flags.h"

DEFINE_string(model, "", "the net prototxt (required)");
DEFINE_string(phase, "TEST", "TRAIN or TEST");
DEFINE_string(weights, "", "say layer by layer whether this weight file fits");
DEFINE_string(input_shape, "",
              "data=32x3x227x227: shapes of a data layer's tops, whose source then need not be "
              "there; several "
              "are separated by commas");
DEFINE_bool(explain, false,
            "which engine runs each layer, in which memory layouts, and who declined why");

namespace {

const crema::ToolInfo kInfo = {
    "describe-net",
    "describe-net --model FILE [--phase TRAIN|TEST] [--weights FILE] [--explain]",
    "Checks a net and prints its layers with shapes, parameters, multiply-adds and memory.",
    "Parses, upgrades and plans the net as training or testing would, but allocates no blob, so "
    "that a net for a large\n"
    "machine can be looked at on a small one. Exits with 1 when the net (or the weights) would be "
    "refused.",
    "  describe-net --model models/caffenet/deploy.prototxt\n"
    "  describe-net --model models/caffenet/train_val.prototxt --phase TRAIN --input_shape "
    "data=256x3x227x227",
};

int run(const std::vector<std::string>&) {
  crema::DescribeOptions options;
  if (FLAGS_model.empty()) throw crema::UsageError("--model is missing");
  if (!caffe::Phase_Parse(FLAGS_phase, &options.phase) || options.phase > caffe::TEST) {
    throw crema::UsageError("--phase is TRAIN or TEST, not " + FLAGS_phase);
  }
  options.model = FLAGS_model;
  options.level = FLAGS_level;
  options.stages = FLAGS_stage;
  options.weights = FLAGS_weights;
  options.input_shapes = FLAGS_input_shape;
  options.device = device_flags();
  options.dialect = dialect_flag();
  options.explain = FLAGS_explain;
  return crema::describe_net(options);
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
