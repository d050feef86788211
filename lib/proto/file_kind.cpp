#include "proto/file_kind.h"

#include <boost/filesystem.hpp>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace crema {
namespace fs = boost::filesystem;
namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Record {
  std::uint32_t field = 0;
  int type = 0;
  std::size_t begin = 0;  ///< of the tag
  std::string_view bytes;
};

/// The outermost fields of a serialized message, one after the other, without knowing its type.
class WireReader {
 public:
  explicit WireReader(std::string_view content) : content_(content) {}

  /// The next field; nothing at the end or where the content stops making sense (then broken() says
  /// how).
  std::optional<Record> next() {
    if (at_ >= content_.size() || !broken_.empty()) return std::nullopt;
    Record record;
    record.begin = at_;
    const auto tag = varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return damaged(record.begin);
    record.field = static_cast<std::uint32_t>(*tag >> 3);
    record.type = static_cast<int>(*tag & 7);
    std::uint64_t length = 0;
    switch (record.type) {
      case kVarint:
        if (!varint()) return damaged(record.begin);
        return record;
      case kFixed64:
        length = 8;
        break;
      case kFixed32:
        length = 4;
        break;
      case kBytes: {
        const auto stored = varint();
        if (!stored) return damaged(record.begin);
        length = *stored;
        break;
      }
      default:
        return damaged(record.begin);
    }
    const std::size_t left = content_.size() - at_;
    if (length > left) {
      broken_ = fmt::format(
          "the record at byte {} has {} bytes, but only {} are left: the file is cut short or "
          "damaged",
          record.begin, length, left);
      overrun_ = true;
      return std::nullopt;
    }
    record.bytes = content_.substr(at_, length);
    at_ += length;
    return record;
  }

  const std::string& broken() const { return broken_; }
  /// Broken by a field that goes beyond the end.
  bool overrun() const { return overrun_; }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ < content_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(content_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    return std::nullopt;
  }

  std::optional<Record> damaged(std::size_t at) {
    broken_ = fmt::format("the file is damaged at byte {}", at);
    return std::nullopt;
  }

  std::string_view content_;
  std::size_t at_ = 0;
  std::string broken_;
  bool overrun_ = false;
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Like starts_with, for web pages: leading blanks and case do not matter. `prefix` in lower case.
bool starts_like(std::string_view text, std::string_view prefix) {
  std::size_t at = 0;
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  if (text.size() - at < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != prefix[i]) return false;
  }
  return true;
}

bool is_text(std::string_view content) {
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && !std::isspace(byte)) || byte == 0x7f) return false;
  }
  return true;
}

bool is_wire(std::string_view content) {
  WireReader reader(content);
  while (reader.next()) {
  }
  return reader.broken().empty();
}

/// Which of Caffe's messages the outermost fields look like. Their numbers overlap, but not with
/// these types.
FileKind binary_kind(std::string_view content) {
  std::set<std::pair<std::uint32_t, int>> seen;
  bool layers = false;
  WireReader reader(content);
  while (const auto record = reader.next()) {
    seen.emplace(record->field, record->type);
    if ((record->field == 100 || record->field == 2) && record->type == kBytes && !layers) {
      layers = is_wire(record->bytes);
    }
  }
  const auto has = [&](std::uint32_t field, int type) { return seen.contains({field, type}); };
  // A first record that goes beyond the end may still be a layer.
  if (seen.empty() || (!reader.broken().empty() && !reader.overrun())) {
    return layers && !has(1, kVarint) ? FileKind::kNet : FileKind::kUnknown;
  }
  if (has(1, kVarint) && (has(3, kBytes) || (has(2, kBytes) && !has(2, kVarint)))) {
    return FileKind::kSolverState;
  }
  if (has(100, kBytes) || (layers && !has(1, kVarint))) return FileKind::kNet;
  if (has(4, kBytes) && has(1, kVarint)) return FileKind::kDatum;
  if (has(5, kBytes) || has(5, kFixed32) ||
      (has(7, kBytes) && (has(8, kBytes) || has(12, kBytes)))) {
    return FileKind::kBlob;
  }
  if (has(1, kBytes) && !has(2, kVarint)) return FileKind::kNet;
  return FileKind::kUnknown;
}

}  // namespace

FileKind kind_of(std::string_view content) {
  if (content.empty()) return FileKind::kEmpty;
  if (starts_with(content, "\x89HDF\r\n\x1a\n")) return FileKind::kHdf5;
  if (starts_with(content, "PK\x03\x04")) return FileKind::kZip;
  if (starts_with(content, "\x1f\x8b")) return FileKind::kGzip;
  if (starts_with(content, "\x93NUMPY")) return FileKind::kNumpy;
  if (starts_with(content, "\xff\xd8\xff") || starts_with(content, "\x89PNG"))
    return FileKind::kImage;
  if (starts_with(content, "\xff\xfe") || starts_with(content, "\xfe\xff")) return FileKind::kUtf16;
  if (content.size() > 20 && content.substr(16, 4) == "\xde\xc0\xef\xbe") return FileKind::kLmdb;
  if (starts_with(content, "version https://git-lfs")) return FileKind::kLfsPointer;
  if (starts_like(content, "<!doctype") || starts_like(content, "<html") ||
      starts_like(content, "<head") || starts_like(content, "<?xml")) {
    return FileKind::kHtml;
  }
  if (starts_like(content, "404: not found") || starts_like(content, "404 not found")) {
    return FileKind::kNotFound;
  }
  return is_text(content) ? FileKind::kText : binary_kind(content);
}

std::string describe(FileKind kind) {
  switch (kind) {
    case FileKind::kEmpty:
      return "empty";
    case FileKind::kText:
      return "a text file";
    case FileKind::kNet:
      return "a net or weights file (NetParameter)";
    case FileKind::kSolverState:
      return "a solver state";
    case FileKind::kBlob:
      return "a single blob, as mean images are";
    case FileKind::kDatum:
      return "a single database record (Datum)";
    case FileKind::kHdf5:
      return "an HDF5 file";
    case FileKind::kHtml:
      return "a web page (was the page of the file saved in place of the file?)";
    case FileKind::kNotFound:
      return "a web server's \"not found\" answer (the download failed)";
    case FileKind::kLfsPointer:
      return "a Git LFS pointer (run `git lfs pull` to get the file itself)";
    case FileKind::kUtf16:
      return "UTF-16 text (save it as UTF-8)";
    case FileKind::kLmdb:
      return "the data file of an LMDB database";
    case FileKind::kZip:
      return "a zip archive (as PyTorch and NumPy files are)";
    case FileKind::kGzip:
      return "compressed with gzip (unpack it first)";
    case FileKind::kNumpy:
      return "a NumPy array";
    case FileKind::kImage:
      return "an image";
    case FileKind::kUnknown:
      break;
  }
  return "of no kind that Crema knows";
}

bool is_foreign(FileKind kind) { return kind >= FileKind::kHtml && kind != FileKind::kUnknown; }

bool looks_like_text(std::string_view content) {
  std::size_t control = 0;
  for (const char c : content) {
    if (!is_text({&c, 1})) ++control;
  }
  return !content.empty() && control * 100 < content.size();
}

void require_file(const std::string& path, const std::string& expected) {
  boost::system::error_code ignored;
  const fs::path where(path);
  if (!fs::is_directory(where, ignored)) return;
  const char* what = fs::exists(where / "data.mdb", ignored)  ? "an LMDB database"
                     : fs::exists(where / "CURRENT", ignored) ? "a LevelDB database"
                                                              : "a folder";
  fail("{} is {}, not {}", path, what, expected);
}

std::string broken_record(std::string_view content) {
  WireReader reader(content);
  while (reader.next()) {
  }
  return reader.broken();
}

}  // namespace crema
