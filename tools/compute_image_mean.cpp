// compute-image-mean: the mean image of a data base.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/progress.h"
#include "base/tool.h"
#include "data/database.h"
#include "data/mean.h"

DEFINE_string(backend, "", "the kind of data base: lmdb or leveldb; without it, what DB is");

namespace {

const crema::ToolInfo kInfo{
    .name = "compute-image-mean",
    .synopsis = "compute-image-mean [--backend lmdb|leveldb] DB [OUT]",
    .summary = "Computes the mean of all images of a data base.",
    .details =
        "Writes it to OUT, if given, in the form that transform_param.mean_file reads, and logs "
        "the "
        "mean of each channel,\n"
        "for mean_value. All images must have the same size.",
    .examples = "  compute-image-mean train_lmdb mean.binaryproto",
    .min_arguments = 1,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  const std::string& path = arguments[0];
  const bool leveldb = FLAGS_backend.empty() && crema::database_kind(path) == "LevelDB";
  const auto backend = leveldb                 ? caffe::DataParameter::LEVELDB
                       : FLAGS_backend.empty() ? caffe::DataParameter::LMDB
                                               : crema::backend_named(FLAGS_backend);
  // Hours may go by before it is needed.
  if (arguments.size() > 1) crema::require_writable_file(arguments[1]);
  const auto reader = crema::open_database(path, backend);
  crema::MeanImage mean;
  std::int64_t count = 0;
  {
    LOG(INFO) << "Starting iteration";
    crema::Progress progress("compute-image-mean", reader->records());
    mean = crema::compute_mean(reader.get(), [&](std::int64_t done) {
      progress.update(done);
      count = done;
    });
  }
  LOG(INFO) << "Processed " << count << " files.";
  if (arguments.size() > 1) {
    LOG(INFO) << "Write to " << arguments[1];
    crema::write_mean(mean, arguments[1]);
  }
  LOG(INFO) << "Number of channels: " << mean.shape[0];
  const std::vector<double> means = mean.channel_means();
  for (std::size_t c = 0; c < means.size(); ++c) {
    LOG(INFO) << fmt::format("mean_value channel [{}]: {:g}", c, means[c]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
