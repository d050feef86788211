#include "data/export_records.h"

#include <algorithm>
#include <atomic>
#include <boost/filesystem.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "data/picture_format.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

constexpr std::size_t kLongestName = 200;
constexpr int kLookedAt = 64;  ///< records by which is decided whether values are bytes
constexpr std::int64_t kLargestSide = 65500;

/// The file of one record, or those of its channels.
struct Exported {
  std::string name;  ///< without ending
  std::vector<std::string> files;
  std::string ending;
  std::string labels;
};

struct Part final : BlockResult {
  std::vector<Exported> exported;
  std::int64_t scaled = 0, not_finite = 0;
  double min = 0, max = 0;
  bool without_labels = false;
};

bool is_picture_ending(const std::string& ending) {
  for (const char* known :
       {"jpg", "jpeg", "png", "bmp", "webp", "tif", "tiff", "ppm", "pgm", "pbm", "gif"}) {
    if (ending == known) return true;
  }
  return false;
}

/// "a.PNG" is "a".
std::string without_picture_ending(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return name;
  std::string ending = name.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_picture_ending(ending) ? name.substr(0, dot) : name;
}

std::string labels_text(const Record& record) {
  // The whole numbers of a Datum, since floats are exact to 2^24 only.
  if (record.datum.label_size() > 0) return fmt::format("{}", fmt::join(record.datum.label(), " "));
  if (record.labels.empty()) return "0";
  return fmt::format("{}", fmt::join(record.labels, " "));
}

bool are_bytes(const ImageView& image) {
  return image.bytes != nullptr ||
         std::all_of(image.floats, image.floats + image.shape().count(), [](float value) {
           return value >= 0 && value <= 255 && value == std::trunc(value);
         });
}

/// A picture of bytes. Values of other kinds are taken as they are, or scaled; `part` gets word of
/// that.
Image as_bytes(const ImageView& image, bool scale, Part* part) {
  const auto count = static_cast<std::size_t>(image.shape().count());
  Image result{image.channels, image.height, image.width, std::vector<std::uint8_t>(count)};
  if (image.bytes) {
    std::copy_n(image.bytes, count, result.bytes.begin());
    return result;
  }
  if (!scale && are_bytes(image)) {
    std::transform(image.floats, image.floats + count, result.bytes.begin(),
                   [](float value) { return static_cast<std::uint8_t>(value); });
    return result;
  }
  bool any = false;
  double min = 0, max = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(image.floats[i])) continue;
    const auto value = static_cast<double>(image.floats[i]);
    min = any ? std::min(min, value) : value;
    max = any ? std::max(max, value) : value;
    any = true;
  }
  bool finite = true;
  const double factor = max > min ? 255 / (max - min) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool good = std::isfinite(image.floats[i]);
    finite &= good;
    if (!good) continue;
    const double scaled = (static_cast<double>(image.floats[i]) - min) * factor;
    result.bytes[i] = static_cast<std::uint8_t>(std::lround(scaled));
  }
  part->min = part->scaled == 0 ? min : std::min(part->min, min);
  part->max = part->scaled == 0 ? max : std::max(part->max, max);
  ++part->scaled;
  if (!finite) ++part->not_finite;
  return result;
}

class Exporter {
 public:
  Exporter(RecordStream* stream, const std::string& folder, const ExportOptions& options)
      : stream_(stream), folder_(folder), options_(options) {}

  ExportResult run() {
    make_folder();
    scale_ = !first_are_bytes();
    stream_->rewind();
    PackedRecord packed;
    for (std::int64_t i = 0; i < options_.from; ++i) {
      require(stream_->next(&packed),
              "{} has only {} records, number {} is none of them (they "
              "count from 0)",
              stream_->path(), i, options_.from);
    }
    BlockWork work;
    work.begin = [] { return std::make_unique<Part>(); };
    work.visit = [&](const PackedRecord& one, Record* record, BlockResult* part) {
      make_files(one, record, static_cast<Part*>(part));
    };
    work.join = [&](std::unique_ptr<BlockResult> part) { write(static_cast<Part*>(part.get())); };
    work.enough = [&] { return enough_.load(); };
    BlockOptions blocks;
    blocks.threads = options_.threads;
    blocks.progress = options_.progress;
    if (options_.count >= 0 && !options_.label && !options_.skip_bad_records) {
      blocks.limit = options_.count;
    }
    try {
      for_each_block(stream_, blocks, work);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUser || result_.files == 0) throw;
      fail("{} (the {} files written so far stay in {})", error.what(), result_.files, folder_);
    }
    require(result_.records > 0, "{} has no record{} to write{}", stream_->path(),
            options_.label ? fmt::format(" of label {}", *options_.label) : "",
            options_.from > 0 ? fmt::format(" from number {} on", options_.from) : "");
    return std::move(result_);
  }

 private:
  void make_folder() {
    boost::system::error_code error;
    const fs::file_status status = fs::status(folder_, error);
    if (status.type() == fs::directory_file) {
      require(fs::is_empty(folder_, error) && !error,
              "{} is not empty; choose a new folder, so that nothing in it is overwritten",
              folder_);
      return;
    }
    require(status.type() == fs::file_not_found, "{} exists and is no folder", folder_);
    fs::create_directories(folder_, error);
    require(!error, "cannot create {}: {}", folder_, error.message());
  }

  /// Whether what the first good records hold can be written as it is.
  bool first_are_bytes() {
    PackedRecord packed;
    Record record;
    stream_->rewind();
    for (int i = 0; i < kLookedAt && stream_->next(&packed); ++i) {
      try {
        stream_->unpack(packed, &record);
        if (record.file.empty() && !are_bytes(record.image)) return false;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kUser) throw;  // else it will come again
      }
    }
    return true;
  }

  void make_files(const PackedRecord& packed, Record* record, Part* part) const {
    if (options_.label && (record->labels.empty() || record->labels[0] != *options_.label)) return;
    Exported exported;
    exported.name = without_picture_ending(file_name_of(record->key));
    exported.labels = labels_text(*record);
    const PictureFormat stored = picture_format(record->file);
    if (!stored.name.empty() && (options_.format.empty() || options_.format == stored.extension)) {
      stream_->decode(packed, record);  // what cannot be read should be known now
      exported.files.emplace_back(record->file);
      exported.ending = stored.extension;
    } else {
      stream_->decode(packed, record);
      with_context([&] { return stream_->where(packed); },
                   [&] { encode(*record, part, &exported); });
    }
    part->without_labels |= record->labels.empty();
    part->exported.push_back(std::move(exported));
  }

  void encode(const Record& record, Part* part, Exported* exported) const {
    require(record.shape.axes() >= 2,
            "a record of {} is no picture, which has channels, height and width",
            record.shape.str());
    const ImageView& view = record.image;
    require(view.height > 0 && view.width > 0 && view.height <= kLargestSide &&
                view.width <= kLargestSide,
            "a picture of {} cannot be written", view.shape().str());
    exported->ending = options_.format.empty() ? "png" : options_.format;
    const Image image = as_bytes(view, scale_, part);
    if (image.channels == 1 || image.channels == 3 || image.channels == 4) {
      exported->files.push_back(encode_image(image, exported->ending));
      return;
    }
    const std::int64_t plane = image.height * image.width;
    for (std::int64_t c = 0; c < image.channels; ++c) {
      const auto begin = image.bytes.begin() + c * plane;
      exported->files.push_back(
          encode_image({1, image.height, image.width, {begin, begin + plane}}, exported->ending));
    }
  }

  void write(Part* part) {
    if (!part->broken.empty() && !options_.skip_bad_records) {
      // The good ones around it are written still.
      write_good(part);
      fail("{}", part->broken[0].why);
    }
    for (BrokenRecord& broken : part->broken) result_.skipped.push_back(std::move(broken));
    write_good(part);
  }

  void write_good(Part* part) {
    if (part->scaled > 0) {
      result_.min = result_.scaled == 0 ? part->min : std::min(result_.min, part->min);
      result_.max = result_.scaled == 0 ? part->max : std::max(result_.max, part->max);
    }
    result_.scaled += part->scaled;
    result_.not_finite += part->not_finite;
    result_.without_labels |= part->without_labels;
    std::string lines;
    for (const Exported& exported : part->exported) {
      if (options_.count >= 0 && result_.records == options_.count) break;
      for (std::size_t i = 0; i < exported.files.size(); ++i) {
        const std::string channel = exported.files.size() > 1 ? fmt::format("-{}", i) : "";
        const std::string name = new_name(exported.name + channel, exported.ending);
        write_file(name, exported.files[i], "wbx");
        lines += fmt::format("{} {}\n", name, exported.labels);
        ++result_.files;
      }
      ++result_.records;
    }
    if (options_.count >= 0 && result_.records == options_.count) enough_ = true;
    if (!lines.empty()) write_file("list.txt", lines, "ab");
  }

  /// A name that no file has yet.
  std::string new_name(const std::string& name, const std::string& ending) {
    std::string full = name + "." + ending;
    for (int number = 2; !names_.insert(full).second; ++number) {
      full = fmt::format("{}-{}.{}", name, number, ending);
    }
    return full;
  }

  void write_file(const std::string& name, const std::string& bytes, const char* mode) const {
    const std::string path = folder_ + "/" + name;
    std::FILE* const file = std::fopen(path.c_str(), mode);
    require_system(file != nullptr, "cannot create {}", path);
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    const std::string reason = written ? "" : system_reason();
    const bool closed = std::fclose(file) == 0;
    require(written, "cannot write {}{}", path, reason);
    require_system(closed, "cannot write {}", path);
  }

  RecordStream* const stream_;
  const std::string folder_;
  const ExportOptions& options_;
  bool scale_ = false;
  std::atomic<bool> enough_ = false;
  std::unordered_set<std::string> names_;
  ExportResult result_;
};

}  // namespace

ExportResult export_records(RecordStream* stream, const std::string& folder,
                            const ExportOptions& options) {
  require(options.format.empty() || is_picture_ending(options.format),
          "\"{}\" is no format for images; png, jpg and ppm are", options.format);
  return Exporter(stream, folder, options).run();
}

std::string file_name_of(const std::string& key) {
  std::string name;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7f;
    name += control || c == '/' || c == '\\' ? '_' : c;
  }
  // The middle goes: endings tell names apart, and so do numbers at the beginning.
  if (name.size() > kLongestName) {
    name = name.substr(0, kLongestName / 2) + name.substr(name.size() - kLongestName / 2);
  }
  if (name.empty()) return "_";
  // What is hidden, or a folder; blanks, which lists cannot tell from what separates.
  if (name.front() == '.' || name.front() == ' ' || name.front() == '-') name.front() = '_';
  if (name.back() == ' ') name.back() = '_';
  return name;
}

}  // namespace crema
