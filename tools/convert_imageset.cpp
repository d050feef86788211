// convert-imageset: a list of picture files to a data base.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/convert_images.h"
#include "data/database.h"

DEFINE_bool(gray, false, "store one channel of grey instead of three of colour");
DEFINE_bool(shuffle, false, "in a random order");
DEFINE_uint64(seed, 0, "which random order");
DEFINE_string(backend, "lmdb", "the kind of data base: lmdb or leveldb");
DEFINE_int32(resize_height, 0, "resize every image to this height; with --resize_width");
DEFINE_int32(resize_width, 0, "resize every image to this width; with --resize_height");
DEFINE_bool(check_size, false, "images of different sizes are an error");
DEFINE_bool(
    encoded, false,
    "store picture files (JPEG, PNG, …) instead of pixels: smaller, and slower to read. A file's "
    "bytes are stored unchanged unless --resize_…, --encode_type or, where it has colours, "
    "--gray asks for another picture");
DEFINE_string(encode_type, "",
              "with --encoded: png, jpg, …; files of another type are encoded anew");
DEFINE_bool(skip_bad_records, false, "leave out images that cannot be read");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-imageset",
    .synopsis = "convert-imageset [flags] ROOT LIST DB",
    .summary = "Makes a data base of the picture files that a list names.",
    .details =
        "LIST is a text file of lines NAME LABEL, where NAME may hold blanks. ROOT is put in front "
        "of every name as it is,\n"
        "so it should end in a slash. DB is the folder to make, which must not exist. Records are "
        "those of Caffe's\n"
        "convert_imageset: keys 00000000_NAME, 00000001_NAME, and so on, in the order of the list; "
        "colours are blue, green,\n"
        "red. Images that cannot be read are an error that lists them, and nothing is made then.",
    .examples =
        "  convert-imageset --resize_height 256 --resize_width 256 images/ train.txt "
        "train_lmdb\n"
        "  convert-imageset --encoded --shuffle images/ train.txt train_lmdb",
    .min_arguments = 3,
    .max_arguments = 3,
};

int run(const std::vector<std::string>& arguments) {
  if ((FLAGS_resize_height > 0) != (FLAGS_resize_width > 0) || FLAGS_resize_height < 0 ||
      FLAGS_resize_width < 0) {
    throw crema::UsageError("--resize_height and --resize_width: give both, greater than 0");
  }
  if (!FLAGS_encode_type.empty() && !FLAGS_encoded) {
    throw crema::UsageError("--encode_type has no effect without --encoded");
  }
  crema::ConvertImagesOptions options;
  options.gray = FLAGS_gray;
  options.shuffle = FLAGS_shuffle;
  options.seed = FLAGS_seed;
  options.backend = crema::backend_named(FLAGS_backend);
  options.resize_height = FLAGS_resize_height;
  options.resize_width = FLAGS_resize_width;
  options.check_size = FLAGS_check_size;
  options.encoded = FLAGS_encoded;
  options.encode_type = FLAGS_encode_type;
  options.skip_bad_records = FLAGS_skip_bad_records;
  crema::ConvertImagesResult result;
  {
    std::optional<crema::Progress> progress;  // begins when the number of records is known
    result = crema::convert_images(arguments[0], arguments[1], arguments[2], options,
                                   [&](std::int64_t done, std::int64_t total) {
                                     if (!progress) progress.emplace("convert-imageset", total);
                                     progress->update(done);
                                   });
  }
  for (const std::string& reason : result.skipped) LOG(WARNING) << "skipped: " << reason;
  crema::print(fmt::format(
      "{}: {} records{}\n", arguments[2], crema::with_thousands(result.records),
      result.skipped.empty()
          ? ""
          : fmt::format(", {} images skipped",
                        crema::with_thousands(static_cast<long long>(result.skipped.size())))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
