// Recognising what lies at a path.
#include "data/record_stream.h"

#include <boost/filesystem.hpp>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "data/database.h"
#include "data/hdf5_list.h"
#include "data/new_folder.h"
#include "data/picture_format.h"
#include "data/record_kinds.h"
#include "proto/file_kind.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

using Kind = RecordStream::Kind;

/// Enough to recognise a file, and to read the first line of a text.
constexpr std::size_t kHeadBytes = 4096;

std::string head_of(const std::string& path) {
  std::string head(kHeadBytes, '\0');
  std::ifstream in(path, std::ios::binary);
  require_system(in.good(), "cannot open {}", path);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

[[noreturn]] void refuse_missing(const std::string& path) {
  boost::system::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored))) {
    fail("{} is a symbolic link to {}, which does not exist", path,
         fs::read_symlink(path, ignored).string());
  }
  if (fs::path(path).is_absolute()) fail("{} does not exist", path);
  fail("{} does not exist (in {}){}", path, fs::current_path(ignored).string(),
       fs::exists("/" + path, ignored) ? fmt::format("; did you mean \"/{}\"?", path) : "");
}

/// The names that come first in a text.
std::vector<std::string> first_words(const std::string& head, std::size_t count) {
  std::istringstream in(head);
  std::vector<std::string> words;
  for (std::string word; words.size() < count && in >> word;) words.push_back(word);
  return words;
}

bool looks_like_hdf5_name(const std::string& name) {
  return name.ends_with(".h5") || name.ends_with(".hdf5") || is_hdf5_file(name);
}

std::unique_ptr<RecordStream> open_text(const std::string& path, const std::string& head,
                                        const RecordStreamOptions& options) {
  const std::vector<std::string> words =
      first_words(head.starts_with("\xef\xbb\xbf") ? head.substr(3) : head, 2);
  require(!words.empty(), "{} is empty: it holds nothing but blanks", path);
  require(words[0] != "#",
          "{} is a window file; of those only WindowData makes pictures. A list of their images "
          "(lines NAME LABEL) can be read",
          path);
  require(words[0].find('{') == std::string::npos && !words[0].ends_with(':') &&
              (words.size() < 2 || words[1] != "{"),
          "{} is a prototxt, not a source of data", path);
  // A line of a list of images has a label; a name of an HDF5 file stands alone.
  const std::string first_line = head.substr(0, head.find('\n'));
  const bool label = words.size() == 2 && first_words(first_line, 2).size() == 2 &&
                     words[1].find_first_not_of("+-.0123456789e") == std::string::npos;
  if (looks_like_hdf5_name(words[0]) && !label) {
    return open_hdf5_records(Kind::kHdf5List, path, read_hdf5_list(path), options,
                             "a text whose first name is that of an HDF5 file");
  }
  return open_image_records(path, options, "a text, taken for lines NAME LABEL");
}

std::unique_ptr<RecordStream> open_file(const std::string& path,
                                        const RecordStreamOptions& options) {
  const std::string head = head_of(path);
  const FileKind kind = kind_of(head);
  if (kind == FileKind::kLmdb || options.backend == caffe::DataParameter::LMDB) {
    return open_database_records(path, caffe::DataParameter::LMDB, "it begins as data.mdb does");
  }
  if (kind == FileKind::kHdf5) {
    return open_hdf5_records(Kind::kHdf5, path, {path}, options, "it begins as HDF5 files do");
  }
  using namespace std::string_view_literals;
  require(!head.starts_with("\0\0\x08"sv),
          "{} is an IDX file; convert-idx makes an LMDB of it and its labels", path);
  require(picture_format(head).name.empty() || kind == FileKind::kText,
          "{} is a single image; a source is a data base, an HDF5 file, a list of images or a "
          "folder with a sub-folder of images for each class",
          path);
  // A name in another encoding than UTF-8 is no control character, and a list is text as well.
  if (kind == FileKind::kText || (!is_foreign(kind) && kind != FileKind::kEmpty &&
                                  looks_like_text(head) && head.find('\0') == std::string::npos)) {
    return open_text(path, head, options);
  }
  fail("{} is no source of data: it is {}", path, describe(kind));
}

std::unique_ptr<RecordStream> open_folder(const std::string& path,
                                          const RecordStreamOptions& options) {
  if (options.backend) {
    return open_database_records(path, *options.backend, "it was called that");
  }
  require_complete(path);
  const std::string kind = database_kind(path);
  if (kind == "LMDB") {
    return open_database_records(path, caffe::DataParameter::LMDB, "the folder holds data.mdb");
  }
  if (kind == "LevelDB") {
    return open_database_records(path, caffe::DataParameter::LEVELDB, "the folder holds CURRENT");
  }
  return with_context(
      [&] {
        return fmt::format("{} is no LMDB (no data.mdb in it) and no LevelDB (no CURRENT)", path);
      },
      [&] { return open_image_records(path, options, "it holds sub-folders and no data base"); });
}

}  // namespace

std::string RecordStream::kind_name() const {
  switch (kind_) {
    case Kind::kLmdb:
      return "LMDB";
    case Kind::kLevelDb:
      return "LevelDB";
    case Kind::kHdf5:
      return "HDF5 file";
    case Kind::kHdf5List:
      return "list of HDF5 files";
    case Kind::kImageList:
      return "list of images";
    case Kind::kImageFolder:
      break;
  }
  return "folder of images, a sub-folder for each class";
}

std::unique_ptr<RecordStream> open_records(const std::string& path,
                                           const RecordStreamOptions& options) {
  require(!path.empty(), "the path of the source is empty");
  boost::system::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_not_found) refuse_missing(path);
  require(status.type() != fs::status_error, "cannot open {}: {}", path, error.message());
  if (status.type() == fs::directory_file) return open_folder(path, options);
  require(status.type() == fs::regular_file, "{} is neither a file nor a folder", path);
  return open_file(path, options);
}

}  // namespace crema
