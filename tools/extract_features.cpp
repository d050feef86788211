// extract-features: blobs of a net into data bases.
#include "commands/extract_features.h"

#include <charconv>

#include "base/text.h"
#include "base/tool.h"
#include "common_flags.h"
#include "data/database.h"
#include "data_flags.h"

namespace {

const crema::ToolInfo kInfo{
    .name = "extract-features",
    .synopsis = "extract-features WEIGHTS NET BLOB,… DB,… BATCHES|all lmdb|leveldb [CPU|GPU] [ID]",
    .summary = "Runs a net and saves the values of blobs.",
    .details =
        "The net runs in phase TEST for BATCHES batches, or over every record of its source "
        "exactly "
        "once (all). Item number\n"
        "i of a BLOB becomes record %010d of its DB (a folder that must not exist): a Datum whose "
        "float_data are the\n"
        "item's values, as many channels x height x width as the blob's item has.",
    .examples =
        "  extract-features lenet.caffemodel models/lenet/train_val.prototxt ip1,ip2 "
        "ip1_lmdb,ip2_lmdb all lmdb\n"
        "  extract-features caffenet.caffemodel features.prototxt fc7 fc7_db 100 leveldb "
        "GPU 0",
    .min_arguments = 6,
    .max_arguments = 8,
};

int run(const std::vector<std::string>& arguments) {
  crema::ExtractFeaturesOptions options;
  options.weights = arguments[0];
  options.model = arguments[1];
  options.blobs = crema::split(arguments[2], ',');
  options.databases = crema::split(arguments[3], ',');
  if (options.blobs.empty() || options.blobs.size() != options.databases.size()) {
    throw crema::UsageError(std::to_string(options.blobs.size()) + " blobs, but " +
                            std::to_string(options.databases.size()) + " data bases");
  }
  const std::string& batches = arguments[4];
  if (batches != "all") {
    const char* const end = batches.data() + batches.size();
    const auto parsed = std::from_chars(batches.data(), end, options.batches);
    if (parsed.ec != std::errc() || parsed.ptr != end || options.batches < 1) {
      throw crema::UsageError("BATCHES is a number from 1 on, or all, not " + batches);
    }
  }
  options.backend = crema::backend_named(arguments[5]);
  options.device = device_flags();
  if (arguments.size() > 6) {
    if (arguments[6] != "CPU" && arguments[6] != "GPU") {
      throw crema::UsageError("the device is CPU or GPU, not " + arguments[6]);
    }
    if (arguments[6] == "GPU") options.device.gpu = arguments.size() > 7 ? arguments[7] : "0";
  }
  options.level = FLAGS_level;
  options.stages = FLAGS_stage;
  options.dialect = dialect_flag();
  options.reading = reading_flags();
  const auto data_threads = data_threads_flag();
  return crema::extract_features(options);
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
