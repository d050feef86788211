// compute-image-mean: the mean image of a source.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/tool.h"
#include "data/mean.h"
#include "data/record_stream.h"
#include "source_flags.h"

DEFINE_bool(skip_bad_records, false, "leave out records that cannot be read, and list them");

namespace {

const crema::ToolInfo kInfo{
    .name = "compute-image-mean",
    .synopsis = "compute-image-mean [flags] SOURCE [OUT]",
    .summary = "Computes the mean of all images of a source.",
    .details = std::string("Writes it to OUT, if given, in the form that "
                           "transform_param.mean_file reads, and logs the mean of each channel,\n"
                           "for mean_value. All images must have the same size.\n") +
               kSourceDetails,
    .examples =
        "  compute-image-mean train_lmdb mean.binaryproto\n"
        "  compute-image-mean --root images/ --resize_height 256 --resize_width 256 train.txt "
        "mean.binaryproto\n"
        "  compute-image-mean --dataset pixels train.h5",
    .min_arguments = 1,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  const crema::RecordStreamOptions source = source_flags();
  // Hours may go by before it is needed.
  if (arguments.size() > 1) crema::require_writable_file(arguments[1]);
  const auto records = crema::open_records(arguments[0], source);
  crema::ComputedMean result;
  {
    LOG(INFO) << "Starting iteration";
    crema::Progress progress("compute-image-mean", records->total().value_or(0));
    crema::StopOnSignal signals;
    crema::MeanOptions options;
    options.threads = threads_flag();
    options.skip_bad_records = FLAGS_skip_bad_records;
    options.progress = [&](std::int64_t done) {
      progress.update(done);
      signals.check();
    };
    result = crema::compute_mean(records.get(), options);
  }
  for (const crema::BrokenRecord& skipped : result.skipped) {
    LOG(WARNING) << "skipped: " << skipped.why;
  }
  if (!result.skipped.empty()) {
    LOG(WARNING) << result.skipped.size() << " records skipped";
  }
  LOG(INFO) << "Processed " << result.records << " files.";
  if (arguments.size() > 1) {
    LOG(INFO) << "Write to " << arguments[1];
    crema::write_mean(result.mean, arguments[1]);
  }
  LOG(INFO) << "Number of channels: " << result.mean.shape[0];
  const std::vector<double> means = result.mean.channel_means();
  for (std::size_t c = 0; c < means.size(); ++c) {
    LOG(INFO) << fmt::format("mean_value channel [{}]: {:g}", c, means[c]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
