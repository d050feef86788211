// What a file is, told from its content: protobuf reads many a wrong file without complaint, and
// people give the wrong file often.
#pragma once

#include <string>
#include <string_view>

namespace crema {

enum class FileKind {
  kEmpty,
  kText,         ///< no control characters: prototxt, or some other text
  kNet,          ///< binary NetParameter: a net, with or without weights
  kSolverState,  ///< binary SolverState
  kBlob,         ///< binary BlobProto, as mean images are
  kDatum,        ///< a record of a database
  kHdf5,
  // What never is ours.
  kHtml,
  kNotFound,  ///< the text that web servers send in place of a file
  kLfsPointer,
  kUtf16,
  kLmdb,
  kZip,
  kGzip,
  kNumpy,
  kImage,
  kUnknown,
};

/// `content` should be the whole file: the records of a binary file are followed to its end.
FileKind kind_of(std::string_view content);

/// "a solver state", with what to do about it where that is clear.
std::string describe(FileKind kind);

/// Whether files of this kind can be neither text nor a Caffe file. (Not kUnknown.)
bool is_foreign(FileKind kind);

/// Whether nearly all of it is text, so that a text parser has the better word on what is wrong.
bool looks_like_text(std::string_view content);

/// Fails if the path is a folder, saying which kind (an LMDB or LevelDB database) and what was
/// expected.
void require_file(const std::string& path, const std::string& expected);

/// Where a binary message breaks off, as a sentence ("the record at byte 20 has 500 bytes, but only
/// 80 are left: the file is cut short or damaged"), or "" when its outermost records are whole.
std::string broken_record(std::string_view content);

}  // namespace crema
