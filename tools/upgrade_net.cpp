// upgrade-net: a net in today's form.
#include <gflags/gflags.h>

#include "base/tool.h"
#include "commands/upgrade.h"
#include "dialect_flag.h"

DEFINE_bool(binary, false,
            "write a binary file whatever its name; names that end in .caffemodel or .binaryproto "
            "always are");

namespace {

const crema::ToolInfo kInfo{
    .name = "upgrade-net",
    .synopsis = "upgrade-net IN OUT [--binary] [--dialect D]",
    .summary = "Brings a net of any age, and of NVIDIA's or Intel's Caffe, to today's form.",
    .details =
        "IN is a prototxt or a binary net, with weights or without; which is told by its content. "
        "OUT is text unless its\n"
        "name or --binary says otherwise; it may be IN, and is written wholly or not at all. What "
        "was changed is printed.\n"
        "Comments do not get into OUT; when it is IN and there is nothing to change it is left as "
        "it is.\n"
        "Caffe's upgrade_net_proto_text and upgrade_net_proto_binary in one.",
    .examples =
        "  upgrade-net old.prototxt new.prototxt\n"
        "  upgrade-net vgg_2014.caffemodel vgg.caffemodel",
    .min_arguments = 2,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  return crema::upgrade_net_file({arguments[0], arguments[1], FLAGS_binary, dialect_flag()});
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
