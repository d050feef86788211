// convert-cifar: the binary version of CIFAR-10 or CIFAR-100 to data bases.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/convert_cifar.h"
#include "data/database.h"

DEFINE_bool(cifar100, false, "FOLDER holds CIFAR-100 (train.bin, test.bin)");
DEFINE_string(
    label, "fine",
    "with --cifar100, what a record is labelled with: fine (100 classes), coarse (20), or "
    "both: two labels, fine and coarse");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-cifar",
    .synopsis = "convert-cifar [--cifar100 [--label fine|coarse|both]] FOLDER OUT [lmdb|leveldb]",
    .summary = "Makes data bases of the binary version of CIFAR-10 or CIFAR-100.",
    .details =
        "FOLDER is what cifar-10-binary.tar.gz or cifar-100-binary.tar.gz unpacks to: "
        "data_batch_1.bin to data_batch_5.bin\n"
        "and test_batch.bin, or train.bin and test.bin. In the folder OUT cifar10_train_lmdb and "
        "cifar10_test_lmdb are made\n"
        "(cifar100_…, …_leveldb), which must not exist. Records are those of Caffe's "
        "convert_cifar_data: keys 00000, 00001,\n"
        "and so on; planes as the files have them, RED, GREEN, BLUE, where all else has blue, "
        "green, "
        "red. The classes'\n"
        "names are in labels.txt in each data base.",
    .examples =
        "  convert-cifar cifar-10-batches-bin data/cifar10\n"
        "  convert-cifar --cifar100 --label both cifar-100-binary data/cifar100",
    .min_arguments = 2,
    .max_arguments = 3,
};

int run(const std::vector<std::string>& arguments) {
  if (!FLAGS_cifar100 && !gflags::GetCommandLineFlagInfoOrDie("label").is_default) {
    throw crema::UsageError("--label has no effect without --cifar100");
  }
  const crema::CifarLabel label = crema::cifar_label_named(FLAGS_label);
  const auto backend = crema::backend_named(arguments.size() > 2 ? arguments[2] : "lmdb");
  const std::string &folder = arguments[0], &out = arguments[1];
  crema::CifarRecords records;
  {
    std::unique_ptr<crema::Progress> progress;  // begins when the number of records is known
    const auto report = [&](std::int64_t done, std::int64_t total) {
      if (!progress) progress = std::make_unique<crema::Progress>("convert-cifar", total);
      progress->update(done);
    };
    records = FLAGS_cifar100 ? crema::convert_cifar100(folder, out, label, backend, report)
                             : crema::convert_cifar10(folder, out, backend, report);
  }
  crema::print(fmt::format("{}: {} records for training, {} for tests\n", out,
                           crema::with_thousands(records.train),
                           crema::with_thousands(records.test)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
