// The headers of a tar archive: blocks of 512 bytes, each followed by the file's contents, filled
// up to whole blocks; two blocks of zeros at the end.
#include "data/tar_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace crema {
namespace {

constexpr std::uint64_t kBlock = 512;
/// Long names and pax records; a header that says more is damaged.
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;
/// Archives in archives; what lies deeper is a file like others.
constexpr int kDeepest = 4;

/// One header. Fields are text, ended by a NUL or a blank where they are shorter than their place.
struct Header {
  char bytes[kBlock];

  std::string_view field(std::size_t at, std::size_t size) const {
    return std::string_view(bytes + at, ::strnlen(bytes + at, size));
  }
  bool is_zero() const {
    return std::all_of(bytes, bytes + kBlock, [](char c) { return c == 0; });
  }
  char type() const { return bytes[156]; }
  bool is_file() const { return type() == '0' || type() == 0 || type() == '7'; }
  std::string name() const {
    const std::string_view name = field(0, 100), prefix = field(345, 155);
    // GNU's own form has other things where ustar has the prefix.
    const bool ustar = std::string_view(bytes + 257, 6) == std::string_view("ustar\0", 6);
    return ustar && !prefix.empty() ? fmt::format("{}/{}", prefix, name) : std::string(name);
  }
  /// In octal digits; or, for large files, in binary with the first bit set.
  std::optional<std::uint64_t> number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    if ((bytes[at] & 0x80) != 0) {
      for (std::size_t i = at + size - 8; i < at + size; ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
      }
      return value;
    }
    std::string_view digits = field(at, size);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    digits = digits.substr(0, digits.find(' '));
    for (const char c : digits) {
      if (c < '0' || c > '7') return std::nullopt;
      value = value << 3 | static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }
  /// The sum of all bytes, its own place taken as blanks.
  bool checksum_is_right() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[i]);
    }
    return number(148, 8) == sum;
  }
};

/// The value of `key` in pax records, each "LENGTH KEY=VALUE\n".
std::string pax_value(std::string_view records, std::string_view key) {
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    std::size_t length = 0;
    for (const char c : records.substr(0, blank)) {
      if (c < '0' || c > '9') return "";
      length = 10 * length + static_cast<std::size_t>(c - '0');
    }
    if (blank == std::string_view::npos || length <= blank + 1 || length > records.size())
      return "";
    const std::string_view record = records.substr(blank + 1, length - blank - 2);
    records.remove_prefix(length);
    if (record.starts_with(key) && record.substr(key.size()).starts_with('=')) {
      return std::string(record.substr(key.size() + 1));
    }
  }
  return "";
}

}  // namespace

TarArchive::TarArchive(const std::string& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require_system(descriptor_ >= 0, "cannot open {}", path);
  try {
    struct stat status = {};
    require_system(::fstat(descriptor_, &status) == 0, "cannot read {}", path);
    require(S_ISREG(status.st_mode), "{} is not a regular file", path);
    scan(path, 0, static_cast<std::uint64_t>(status.st_size), "", 0);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  // Of two files of one name the later one counts, as if it had been unpacked over the other.
  const auto by_name = [&](const Member& a, const Member& b) { return name_of(a) < name_of(b); };
  std::stable_sort(members_.begin(), members_.end(), by_name);
  const auto same = [&](const Member& a, const Member& b) { return name_of(a) == name_of(b); };
  members_.erase(members_.begin(), std::unique(members_.rbegin(), members_.rend(), same).base());
}

TarArchive::~TarArchive() { ::close(descriptor_); }

/// The archive `what` that lies in these bytes of the file.
void TarArchive::scan(const std::string& what, std::uint64_t begin, std::uint64_t end,
                      const std::string& prefix, int depth) {
  std::string long_name;  // for the next header
  std::uint64_t at = begin;
  for (;;) {
    require(end - at >= kBlock, "{} is truncated: it ends after {} bytes, without an end mark",
            what, end - begin);
    Header header;
    read_at(at, header.bytes, kBlock);
    if (header.is_zero()) return;
    if (!header.checksum_is_right()) {
      require(at != begin, "{} is not a tar archive{}", what,
              std::string_view(header.bytes, 2) == "\x1f\x8b"
                  ? ", but compressed by gzip; unpack it first (gunzip)"
                  : "");
      fail("{} is damaged: the header at byte {} has a wrong checksum", what, at - begin);
    }
    const std::optional<std::uint64_t> size = header.number(124, 12);
    at += kBlock;
    require(size && *size <= end - at, "{} is truncated: {} needs {} bytes, {} are left", what,
            header.name(), size.value_or(0), end - at);
    const bool text = header.type() == 'L' || header.type() == 'x';
    require(!text || *size <= kLongestText, "{} is damaged: a name of {} bytes", what, *size);
    if (header.type() == 'L') {  // GNU: ends in a NUL
      long_name = read_part(at, *size);
      long_name.resize(::strnlen(long_name.data(), long_name.size()));
    } else if (header.type() == 'x') {
      const std::string records = read_part(at, *size);
      require(pax_value(records, "size").empty(), "{} has files of 8 GB or more in pax form", what);
      if (std::string path = pax_value(records, "path"); !path.empty()) long_name = std::move(path);
    } else {
      std::string name = long_name.empty() ? header.name() : std::move(long_name);
      long_name.clear();
      if (name.starts_with("./")) name.erase(0, 2);
      if (header.is_file() && name.ends_with(".tar") && depth < kDeepest) {
        scan(fmt::format("{} in {}", name, what), at, at + *size,
             prefix + name.substr(0, name.size() - 4) + "/", depth + 1);
      } else if (header.is_file()) {
        name.insert(0, prefix);
        members_.push_back({names_.size(), name.size(), at, *size});
        names_ += name;
      }
    }
    at += std::min((*size + kBlock - 1) / kBlock * kBlock, end - at);
  }
}

void TarArchive::read_at(std::uint64_t offset, char* to, std::size_t size) const {
  while (size > 0) {
    const ssize_t got = ::pread(descriptor_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    require_system(got >= 0, "cannot read {}", path_);
    require(got > 0, "{} was cut off while it was being read", path_);
    offset += static_cast<std::uint64_t>(got);
    to += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::string TarArchive::read_part(std::uint64_t offset, std::uint64_t size) const {
  std::string bytes(size, '\0');
  read_at(offset, bytes.data(), size);
  return bytes;
}

std::string_view TarArchive::name_of(const Member& member) const {
  return std::string_view(names_).substr(member.name_at, member.name_size);
}

std::string TarArchive::read(const std::string& name) const {
  const auto found = std::lower_bound(
      members_.begin(), members_.end(), name,
      [&](const Member& member, const std::string& wanted) { return name_of(member) < wanted; });
  require(found != members_.end() && name_of(*found) == name, "{} holds no file {}", path_, name);
  return read_part(found->offset, found->size);
}

}  // namespace crema
