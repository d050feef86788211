// convert-idx: MNIST-like IDX files to an LMDB.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/convert_idx.h"

DEFINE_bool(pairs, false,
            "write as many pairs of pictures, drawn at random, with label 1 for two of one class "
            "and else 0, as models/siamese wants them");
DEFINE_uint64(seed, 1, "with --pairs: another seed draws other pairs");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-idx",
    .synopsis = "convert-idx [--pairs] IMAGES LABELS DB",
    .summary = "Makes an LMDB from the IDX files of MNIST, Fashion-MNIST and the like.",
    .details =
        "IMAGES (number x height x width) and LABELS (number) are IDX files of unsigned bytes, "
        "plain or "
        "compressed (.gz). DB is the folder to make, which must not exist: an LMDB whose records "
        "are those of "
        "Caffe's convert_mnist_data, in the order of the files, with keys 00000000, 00000001, and "
        "so on. With --pairs a record has two channels, one a picture.",
    .examples = "convert-idx train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz train_lmdb",
    .min_arguments = 3,
    .max_arguments = 3,
};

int run(const std::vector<std::string>& arguments) {
  std::int64_t count = 0;
  {
    std::optional<crema::Progress> progress;  // begins when the number of records is known
    const auto report = [&](std::int64_t done, std::int64_t total) {
      if (!progress) progress.emplace("convert-idx", total);
      progress->update(done);
    };
    count = FLAGS_pairs ? crema::convert_idx_pairs(arguments[0], arguments[1], arguments[2],
                                                   FLAGS_seed, report)
                        : crema::convert_idx(arguments[0], arguments[1], arguments[2], report);
  }
  crema::print(fmt::format("{}: {} records\n", arguments[2], crema::with_thousands(count)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
