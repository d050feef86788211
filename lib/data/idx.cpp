// IDX by zlib, which reads plain files as well: MNIST is handed out compressed, and unpacking it
// first is easily forgotten. The header must agree with what follows it to the byte.
#include "data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"

namespace crema {
namespace {

/// A file that zlib unpacks if it is compressed and passes on as it is otherwise.
class GzFile {
 public:
  explicit GzFile(const std::string& path) : path_(path), file_(nullptr, gzclose_r) {
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    require(file_ != nullptr, "cannot open {}: {}", path, std::strerror(errno ? errno : ENOMEM));
    gzbuffer(file_.get(), 1 << 17);
  }

  /// Up to `size` bytes; fewer at the end. Fails when the file cannot be read or unpacked.
  std::size_t read(char* to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const unsigned part = static_cast<unsigned>(std::min<std::size_t>(size - done, 1u << 30));
      errno = 0;
      const int count = gzread(file_.get(), to + done, part);
      int code = Z_OK;
      const char* text = gzerror(file_.get(), &code);
      if (count < 0 || code == Z_BUF_ERROR) {
        // A file that was cut off: what could be unpacked counts, the caller says how much is
        // missing.
        if (code == Z_BUF_ERROR) return done + static_cast<std::size_t>(std::max(count, 0));
        fail("cannot read {}: {}", path_, code == Z_ERRNO ? std::strerror(errno) : text);
      }
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::uint32_t big_endian(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  GzFile file(path);
  // Two zero bytes, the type, the number of axes; then each axis' size, 4 bytes, big-endian.
  char head[4 + 4 * 255];
  const std::size_t got = file.read(head, 4);
  require(got == 4, "{} is not an IDX file: it has only {} bytes", path, got);
  const unsigned type = static_cast<unsigned char>(head[2]);
  const unsigned axes = static_cast<unsigned char>(head[3]);
  require(head[0] == 0 && head[1] == 0 && axes >= 1 && axes <= Shape::kMaxAxes,
          "{} is not an IDX file: it begins with {:02x}{:02x}{:02x}{:02x}", path,
          static_cast<unsigned char>(head[0]), static_cast<unsigned char>(head[1]), type, axes);
  require(type == 0x08, "{} is an IDX file of type 0x{:02x}; only unsigned bytes (0x08) are read",
          path, type);
  const std::size_t sizes = file.read(head, 4 * axes);
  require(sizes == 4 * axes, "{} is truncated: it has {} of {} bytes of header", path, 4 + sizes,
          4 + 4 * axes);
  std::vector<std::int64_t> dims;
  for (unsigned i = 0; i < axes; ++i) dims.push_back(big_endian(head + 4 * i));

  IdxArray array;
  with_context(path, [&] { array.shape = Shape(std::move(dims)); });
  const std::int64_t wanted = array.shape.count();
  // In parts, twice as large each time, so that a header that lies costs no more memory than the
  // file has.
  std::int64_t found = 0;
  while (found < wanted) {
    const std::int64_t part = std::min(std::max(found, std::int64_t{1} << 16), wanted - found);
    array.bytes.resize(static_cast<std::size_t>(found + part));
    const std::size_t count = file.read(array.bytes.data() + found, static_cast<std::size_t>(part));
    found += static_cast<std::int64_t>(count);
    require(static_cast<std::int64_t>(count) == part,
            "{} is truncated: {} needs {} bytes of data, found {}", path, array.shape.str(), wanted,
            found);
  }
  char extra;
  require(file.read(&extra, 1) == 0, "{} goes on after the {} bytes of data that {} needs", path,
          wanted, array.shape.str());
  return array;
}

}  // namespace crema
