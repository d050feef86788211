// convert-idx: MNIST-like IDX files to an LMDB.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/convert_idx.h"
#include "data/database.h"

DEFINE_bool(pairs, false,
            "write as many pairs of pictures, drawn at random, with label 1 for two of one class "
            "and else 0, as models/siamese wants them");
DEFINE_string(backend, "lmdb", "the kind of data base: lmdb or leveldb");
DEFINE_uint64(seed, 1, "with --pairs: another seed draws other pairs");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-idx",
    .synopsis = "convert-idx [--pairs] IMAGES LABELS DB",
    .summary = "Makes a data base from the IDX files of MNIST, Fashion-MNIST and the like.",
    .details =
        "IMAGES (number x height x width) and LABELS (number) are IDX files of unsigned bytes, "
        "plain or "
        "compressed (.gz). DB is the folder to make, which must not exist; its records are those "
        "of "
        "Caffe's convert_mnist_data, in the order of the files, with keys 00000000, 00000001, and "
        "so on. With --pairs a record has two channels, one a picture.",
    .examples = "convert-idx train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz train_lmdb",
    .min_arguments = 3,
    .max_arguments = 3,
};

int run(const std::vector<std::string>& arguments) {
  if (!FLAGS_pairs && !gflags::GetCommandLineFlagInfoOrDie("seed").is_default) {
    throw crema::UsageError("--seed has no effect without --pairs");
  }
  const auto backend = crema::backend_named(FLAGS_backend);
  std::int64_t count = 0;
  {
    std::optional<crema::Progress> progress;  // begins when the number of records is known
    const auto report = [&](std::int64_t done, std::int64_t total) {
      if (!progress) {
        LOG(INFO) << "A total of " << total << " items.";
        progress.emplace("convert-idx", total);
      }
      progress->update(done);
    };
    const std::string &images = arguments[0], &labels = arguments[1], &db = arguments[2];
    count = FLAGS_pairs ? crema::convert_idx_pairs(images, labels, db, backend, FLAGS_seed, report)
                        : crema::convert_idx(images, labels, db, backend, report);
  }
  LOG(INFO) << "Processed " << count << " files.";
  crema::print(fmt::format("{}: {} records\n", arguments[2], crema::with_thousands(count)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
