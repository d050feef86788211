// describe-data: what a source holds, what is wrong with it, and whether it fits a net.
#include "commands/describe_data.h"

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "base/tool.h"
#include "dialect_flag.h"
#include "source_flags.h"

DEFINE_int64(sample, 0,
             "decode only so many images, spread evenly; everything else is still looked at in all "
             "records; 0: all");
DEFINE_string(model, "", "a net prototxt: does the source fit it?");
DEFINE_string(phase, "",
              "TRAIN or TEST; without it, the phases in which the net names the source, else "
              "TRAIN");
DEFINE_int32(level, 0, "level of the net's state");
DEFINE_string(stage, "", "stages of the net's state, separated by commas");

namespace {

const crema::ToolInfo kInfo{
    .name = "describe-data",
    .synopsis = "describe-data [flags] SOURCE [--model NET]",
    .summary =
        "Says what a source of data holds, what is wrong with it, and whether it fits a net.",
    .details =
        std::string(kSourceDetails) +
        "\nIt is read to its end: number of records, sizes, labels, ranges and means of values, "
        "and every record that\n"
        "cannot be read. With --model the data layers of the net that name this source (or all, "
        "if none does) are held\n"
        "against it: kind of source, crop, mean, labels against the classes of the losses. Last "
        "come the lines of a\n"
        "prototxt that read it. Exits with 1 when something is broken or does not fit.",
    .examples =
        "  describe-data train_lmdb\n"
        "  describe-data train_lmdb --model models/caffenet/train_val.prototxt\n"
        "  describe-data --root images/ train.txt --sample 1000",
    .min_arguments = 1,
    .max_arguments = 1,
};

int run(const std::vector<std::string>& arguments) {
  crema::DescribeDataOptions options;
  options.source = arguments[0];
  options.reading = source_flags();
  if (FLAGS_sample < 0) throw crema::UsageError("--sample: a number of images, or 0 for all");
  options.sample = FLAGS_sample == 0 ? -1 : FLAGS_sample;
  options.threads = threads_flag();
  options.model = FLAGS_model;
  if (!FLAGS_phase.empty()) {
    caffe::Phase phase = caffe::TRAIN;
    if (!caffe::Phase_Parse(FLAGS_phase, &phase) || phase > caffe::TEST) {
      throw crema::UsageError("--phase is TRAIN or TEST, not " + FLAGS_phase);
    }
    options.phase = phase;
  }
  options.level = FLAGS_level;
  options.stages = FLAGS_stage;
  options.dialect = dialect_flag();
  return crema::describe_data(options);
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
