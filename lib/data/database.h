// Data bases of records (key and value) in the order of their keys, whatever the library behind
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caffe.pb.h"

namespace crema {

/// The value of a record that was found, here or still in the file.
struct StoredValue {
  std::string bytes;
  std::uint64_t offset = 0, size = 0;  ///< with size > 0: where in the file, and bytes is void
};

/// Reads records in the byte order of their keys. Used by one thread at a time, but for path(),
/// records() and load().
class DatabaseReader {
 public:
  virtual ~DatabaseReader() = default;
  DatabaseReader(const DatabaseReader&) = delete;
  DatabaseReader& operator=(const DatabaseReader&) = delete;

  virtual const std::string& path() const = 0;
  /// At least 1. (LevelDB has to count them at the first call.)
  virtual std::int64_t records() const = 0;

  /// Steps to the next record (the first one, at the beginning). After the last one: false, and the
  /// next call starts again. Fails when the data are damaged.
  virtual bool next() = 0;
  /// Back to before the first record.
  virtual void rewind() = 0;
  /// As `count` calls of next(), which must not reach the end; reads no values if that can be.
  virtual void skip(std::int64_t count) = 0;
  /// To record `index`, from 0, which must be there. The first call goes once over all keys, or
  /// over the pages that hold them; what it keeps is at most a key a record.
  virtual void go_to(std::int64_t index) = 0;

  /// The present record's. Valid until the reader moves (`value` also until the next call of it).
  virtual std::string_view key() const = 0;
  std::string_view value();

  /// The present record's value without reading what load() can read later.
  virtual void locate(StoredValue* value) = 0;
  /// The bytes of a located value; from any thread, whatever the reader does meanwhile. They lie in
  /// `value` or in `buffer`. `key` is for messages.
  virtual std::string_view load(std::string_view key, const StoredValue& value,
                                std::string* buffer) const = 0;

 protected:
  DatabaseReader() = default;

 private:
  StoredValue stored_;
  std::string buffer_;
};

/// The longest key, in bytes: what LMDB takes.
inline constexpr std::size_t kLongestKey = 511;

/// Makes a new data base. Whatever happens before finish() leaves nothing under its path (see
/// NewFolder).
class DatabaseWriter {
 public:
  /// Removes what was written unless finish() succeeded.
  virtual ~DatabaseWriter() = default;
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  /// Where it will be.
  virtual const std::string& path() const = 0;
  /// Keys: 1 to kLongestKey bytes, in any order, each once. Commits every 1000 records (or 16 MB).
  virtual void put(std::string_view key, std::string_view value) = 0;
  /// Puts a file into the data base's folder, beside the library's own: what belongs to the records
  /// but is none of them. It moves, appears and goes with the data base.
  virtual void attach(const std::string& name, std::string_view contents) = 0;
  /// Commits, syncs to disk and puts the data base in place.
  virtual void finish() = 0;

 protected:
  DatabaseWriter() = default;
};

/// Errors name the path; what is a data base of the other kind is called that.
std::unique_ptr<DatabaseReader> open_database(const std::string& path,
                                              caffe::DataParameter::DB backend);
/// Fails when something exists at `path` or its folder cannot be written to.
std::unique_ptr<DatabaseWriter> create_database(const std::string& path,
                                                caffe::DataParameter::DB backend);

/// Finishes data bases that belong together: when one cannot be, those before it are removed.
void finish_all(const std::vector<DatabaseWriter*>& writers);

/// What kind of data base lies in a folder: "LMDB", "LevelDB", or "".
std::string database_kind(const std::string& path);

/// "lmdb" or "leveldb", in any case of letters, as command lines give it; a UsageError for others.
caffe::DataParameter::DB backend_named(const std::string& name);

}  // namespace crema
