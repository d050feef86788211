// Flags of the tools that take a source of any form, and what they say.
#pragma once

#include <fmt/format.h>
#include <gflags/gflags.h>

#include "base/tool.h"
#include "data/database.h"
#include "data/record_stream.h"
#include "threads_flag.h"

DEFINE_string(backend, "", "the kind of data base: lmdb or leveldb; without it, what is there");
DEFINE_string(root, "", "of a list of images: put in front of every name as it is");
DEFINE_int32(label_count, 1, "of a list of images: how many labels a line ends with");
DEFINE_bool(gray, false, "of images in files: one channel of grey instead of three of colour");
DEFINE_int32(resize_height, 0, "of images in files: the height that they are resized to");
DEFINE_int32(resize_width, 0, "of images in files: the width that they are resized to");
DEFINE_string(dataset, "data", "of HDF5: the dataset that holds the images");
DEFINE_string(label_dataset, "label", "of HDF5: the dataset that holds the labels, if it is there");

/// What the sources of these tools are, for their help.
inline constexpr const char* kSourceDetails =
    "SOURCE is recognised by its content: an LMDB, a LevelDB, an HDF5 file, a text that lists HDF5 "
    "files, a text that\n"
    "lists images (lines NAME LABEL), or a folder with a sub-folder of images for each class.";

inline crema::RecordStreamOptions source_flags() {
  crema::RecordStreamOptions options;
  if (!FLAGS_backend.empty()) options.backend = crema::backend_named(FLAGS_backend);
  if ((FLAGS_resize_height > 0) != (FLAGS_resize_width > 0) || FLAGS_resize_height < 0 ||
      FLAGS_resize_width < 0) {
    throw crema::UsageError("--resize_height and --resize_width: give both, greater than 0");
  }
  if (FLAGS_label_count < 1) throw crema::UsageError("--label_count: at least 1");
  options.root = FLAGS_root;
  options.label_count = FLAGS_label_count;
  options.gray = FLAGS_gray;
  options.resize_height = FLAGS_resize_height;
  options.resize_width = FLAGS_resize_width;
  options.dataset = FLAGS_dataset;
  options.label_dataset = FLAGS_label_dataset;
  return options;
}
