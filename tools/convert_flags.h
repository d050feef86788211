// The flags of the tools that make data bases of picture files. Defines them, so it is included by
// one file a program.
#pragma once

#include <fmt/format.h>
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include "base/progress.h"
#include "base/text.h"
#include "data/convert_images.h"
#include "data/database.h"
#include "threads_flag.h"

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
              "png, jpg, …: store picture files of this type; those of another are encoded anew. "
              "Implies --encoded");
DEFINE_bool(skip_bad_records, false, "leave out images that cannot be read, and tell which");

/// encode_type is in small letters and implies encoded, as in Caffe.
inline crema::ConvertImagesOptions convert_flags() {
  crema::ConvertImagesOptions options;
  options.gray = FLAGS_gray;
  options.shuffle = FLAGS_shuffle;
  options.seed = FLAGS_seed;
  options.backend = crema::backend_named(FLAGS_backend);
  options.resize_height = FLAGS_resize_height;
  options.resize_width = FLAGS_resize_width;
  options.check_size = FLAGS_check_size;
  options.encode_type = FLAGS_encode_type;
  std::transform(options.encode_type.begin(), options.encode_type.end(),
                 options.encode_type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  options.encoded = FLAGS_encoded || !FLAGS_encode_type.empty();
  options.skip_bad_records = FLAGS_skip_bad_records;
  options.threads = threads_flag();
  if (options.encoded && !FLAGS_encoded) {
    LOG(INFO) << "encode_type specified, assuming encoded=true.";
  }
  return options;
}

/// Caffe's log lines, and a progress line that begins when the number of images is known.
inline crema::ConvertImagesEvents report_conversion(const std::string& tool) {
  const auto progress = std::make_shared<std::unique_ptr<crema::Progress>>();
  crema::ConvertImagesEvents events;
  events.listed = [tool, progress](std::int64_t images) {
    if (FLAGS_shuffle) LOG(INFO) << "Shuffling data";
    LOG(INFO) << "A total of " << images << " images.";
    *progress = std::make_unique<crema::Progress>(tool, images);
  };
  events.progress = [progress](std::int64_t done, std::int64_t all) {
    (*progress)->update(done);
    if (done == all) progress->reset();
  };
  events.written = [](std::int64_t records) { LOG(INFO) << "Processed " << records << " files."; };
  return events;
}

/// What was made, after a warning for each image that was left out.
inline void print_conversion(const std::string& db, const crema::ConvertImagesResult& result) {
  for (const std::string& reason : result.reasons) LOG(WARNING) << "skipped: " << reason;
  const auto listed = static_cast<std::int64_t>(result.reasons.size());
  if (result.skipped > listed) LOG(WARNING) << "skipped: " << result.skipped - listed << " more";
  crema::print(
      fmt::format("{}: {} records{}\n", db, crema::with_thousands(result.records),
                  result.skipped == 0
                      ? ""
                      : fmt::format(", {} images skipped", crema::with_thousands(result.skipped))));
}
