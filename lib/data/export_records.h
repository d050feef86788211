// From records back to picture files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/record_blocks.h"
#include "data/record_stream.h"

namespace crema {

struct ExportOptions {
  /// "png", "jpg", …; "": what is a picture file already keeps its bytes and its own ending, all
  /// else becomes PNG.
  std::string format;
  std::int64_t from = 0;       ///< the first record to look at
  std::int64_t count = -1;     ///< at most so many are written; -1: all
  std::optional<float> label;  ///< only those whose first label is this
  int threads = 1;
  bool skip_bad_records = false;
  std::function<void(std::int64_t)> progress{};  ///< told how many records were looked at
};

struct ExportResult {
  std::int64_t records = 0, files = 0;
  std::vector<BrokenRecord> skipped;
  /// Numbers of records whose values are no bytes and were scaled, and between what they lay.
  std::int64_t scaled = 0;
  double min = 0, max = 0;
  std::int64_t not_finite = 0;  ///< records with values that are none, which became 0
  bool without_labels = false;  ///< the list has 0 for them
};

/// Writes the records of a stream as picture files into `folder`, which is made or must be empty,
/// and list.txt beside them: lines NAME LABEL …, in the order of the records, that convert-imageset
/// makes the same pictures of. Names are the keys with what could leave the folder, or is no part
/// of a name, replaced by "_"; one that is taken gets a number.
///
/// Bytes stay as they are. Values of other types do so too, if those of the first records are whole
/// and from 0 to 255; else each picture is scaled for itself, its smallest value becoming 0 and its
/// largest 255. Pictures of 1, 3 and 4 channels are one file, of others each channel is one.
///
/// What was written before an error stays, and the error says so.
ExportResult export_records(RecordStream* stream, const std::string& folder,
                            const ExportOptions& options);

/// The name of the file for a key, without an ending: one component of a path, at most 200 bytes.
std::string file_name_of(const std::string& key);

}  // namespace crema
