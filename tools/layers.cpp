#include <gflags/gflags.h>

#include "base/text.h"
#include "base/tool.h"
#include "report/layer_reference.h"

DEFINE_bool(markdown, false, "print the reference of all types, as it stands in docs/layers.md");

namespace {

const crema::ToolInfo kInfo = {
    "layers",
    "layers [TYPE | --markdown]",
    "Lists the layer types, or tells what can be written for one.",
    "Without TYPE: every type with one sentence. With TYPE: how many bottoms and tops it takes, "
    "its "
    "fields with their\n"
    "defaults, and where it deliberately differs from Caffe.",
    "  layers\n"
    "  layers Pooling",
    0,
    1,
};

int run(const std::vector<std::string>& arguments) {
  if (FLAGS_markdown && !arguments.empty()) {
    throw crema::UsageError("--markdown prints all types; give it without TYPE");
  }
  if (FLAGS_markdown) {
    crema::print(crema::layers_markdown());
  } else if (arguments.empty()) {
    crema::print(crema::layer_list());
  } else {
    crema::print(crema::layer_page(crema::layer_type(arguments[0])));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
