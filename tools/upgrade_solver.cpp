// upgrade-solver: a solver in today's form.
#include "base/tool.h"
#include "commands/upgrade.h"
#include "dialect_flag.h"

namespace {

const crema::ToolInfo kInfo{
    .name = "upgrade-solver",
    .synopsis = "upgrade-solver IN OUT [--dialect D]",
    .summary = "Brings a solver prototxt to today's form.",
    .details =
        "OUT may be IN, and is written wholly or not at all. What was changed is printed. Comments "
        "do "
        "not get into OUT;\n"
        "when it is IN and there is nothing to change it is left as it is. Nets in the solver are "
        "brought\n"
        "up to date too; those in files of their own are for upgrade-net. Caffe's "
        "upgrade_solver_proto_text.",
    .examples = "  upgrade-solver old_solver.prototxt solver.prototxt",
    .min_arguments = 2,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  return crema::upgrade_solver_file({arguments[0], arguments[1], false, dialect_flag()});
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
