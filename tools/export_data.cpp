// export-data: records back to picture files.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <charconv>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/export_records.h"
#include "data/record_stream.h"
#include "source_flags.h"

DEFINE_string(format, "",
              "png, jpg, ppm, …: write all as files of this kind; without it, records that hold a "
              "picture file are written byte for byte, and others as PNG");
DEFINE_int64(from, 0, "the first record, from 0");
DEFINE_int64(count, 0, "how many at most; 0: all");
DEFINE_string(label, "", "only records with this (first) label");
DEFINE_bool(skip_bad_records, false, "leave out records that cannot be read, and list them");

namespace {

const crema::ToolInfo kInfo{
    .name = "export-data",
    .synopsis = "export-data [flags] SOURCE DIR",
    .summary = "Writes the records of a source as picture files.",
    .details =
        std::string(kSourceDetails) +
        "\nDIR is made, or must be empty. Files are named after the records' keys, with \"_\" for "
        "slashes. DIR/list.txt has\n"
        "a line NAME LABEL for each, so that convert-imageset makes the same records again (of "
        "grey ones with --gray, of\n"
        "encoded ones with --encoded). Values that are no bytes are scaled, each picture for "
        "itself. Pictures of other\n"
        "than 1, 3 or 4 channels become a grey file for each channel.",
    .examples =
        "  export-data train_lmdb pictures\n"
        "  export-data train_lmdb threes --label 3 --count 100\n"
        "  convert-imageset pictures/ pictures/list.txt again_lmdb",
    .min_arguments = 2,
    .max_arguments = 2,
};

crema::ExportOptions export_flags() {
  crema::ExportOptions options;
  options.format = FLAGS_format;
  if (FLAGS_from < 0) throw crema::UsageError("--from: 0 or more");
  if (FLAGS_count < 0) throw crema::UsageError("--count: 1 or more, or 0 for all");
  options.from = FLAGS_from;
  options.count = FLAGS_count == 0 ? -1 : FLAGS_count;
  if (!FLAGS_label.empty()) {
    float label = 0;
    const char* const end = FLAGS_label.data() + FLAGS_label.size();
    const auto parsed = std::from_chars(FLAGS_label.data(), end, label);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      throw crema::UsageError("--label: a number, not " + FLAGS_label);
    }
    options.label = label;
  }
  options.threads = threads_flag();
  options.skip_bad_records = FLAGS_skip_bad_records;
  return options;
}

int run(const std::vector<std::string>& arguments) {
  const crema::RecordStreamOptions source = source_flags();
  crema::ExportOptions options = export_flags();
  const auto records = crema::open_records(arguments[0], source);
  crema::ExportResult result;
  {
    crema::Progress progress("export-data", options.count >= 0 ? 0 : records->total().value_or(0));
    crema::StopOnSignal signals;
    options.progress = [&](std::int64_t done) {
      progress.update(done);
      signals.check();
    };
    result = crema::export_records(records.get(), arguments[1], options);
  }
  for (const crema::BrokenRecord& skipped : result.skipped) {
    LOG(WARNING) << "skipped: " << skipped.why;
  }
  if (result.scaled > 0) {
    LOG(INFO) << fmt::format(
        "{} images scaled to bytes, each from its own range; all lie between {:g} and {:g}{}",
        crema::with_thousands(result.scaled), result.min, result.max,
        result.not_finite > 0
            ? fmt::format("; in {} some values are no finite numbers, and 0 there",
                          crema::with_thousands(result.not_finite))
            : "");
  }
  if (result.without_labels) LOG(INFO) << "there are no labels: list.txt has 0";
  crema::print(fmt::format(
      "{}: {} records in {} files{}\n", arguments[1], crema::with_thousands(result.records),
      crema::with_thousands(result.files),
      result.skipped.empty()
          ? ""
          : fmt::format(", {} skipped",
                        crema::with_thousands(static_cast<long long>(result.skipped.size())))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
