// LMDB environments (Caffe's data bases): reading the unnamed data base in key order, and making
// one.
//
// The reader is our own walk over the pages of data.mdb instead of liblmdb's cursors, for three
// reasons. The library maps the file and trusts it: a damaged page or a truncated copy ends in
// SIGBUS, SIGSEGV or abort() instead of an error. It forbids opening one environment twice in a
// process (train and test net may share one), which needs a process-wide registry. And it wants to
// create and lock lock.mdb, which read-only media and network file systems refuse. Here every
// offset is checked, every byte comes through pread (an I/O error is an error, nothing is counted
// as resident memory), nothing is ever written, and readers know nothing of each other.
//
// What a lock would give is protection from somebody who writes to the data base meanwhile. Pages
// of a snapshot are reused from the second commit after it at the earliest, so the reader looks at
// the newest commit's number as it goes and fails when that has happened.
//
// Format: LMDB data version 1 (all releases 0.9.x), written by a 64-bit little-endian machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/database.h"
#include "data/new_folder.h"

namespace crema {

/// Reads records in the byte order of their keys. Not thread-safe; any number of readers may be
/// open on one path.
class LmdbReader final : public DatabaseReader {
 public:
  /// `path`: an environment's folder, or its data file. Fails, naming the path (and the working
  /// directory when it is relative), when there is nothing, something else (a LevelDB is
  /// recognised), a truncated file or no record.
  explicit LmdbReader(const std::string& path);
  ~LmdbReader() override;

  const std::string& path() const override { return path_; }
  std::int64_t records() const override { return entries_; }

  bool next() override;
  void rewind() override;
  void skip(std::int64_t count) override;
  void go_to(std::int64_t index) override;

  std::string_view key() const override;
  void locate(StoredValue* value) override;
  std::string_view load(std::string_view key, const StoredValue& value,
                        std::string* buffer) const override;

 private:
  /// A page on the way from the root to the present leaf, and the node taken there.
  struct Level {
    std::vector<unsigned char> page;
    int index = 0;
    int count = 0;
  };
  struct Node {
    std::size_t offset;
    unsigned flags;
    std::uint64_t child;      ///< branch: page number
    std::uint64_t data_size;  ///< leaf
    std::string_view key;
  };

  /// A leaf page and the place of its first record.
  struct Leaf {
    std::uint64_t page;
    std::int64_t first;
  };

  void open();
  void read_meta();
  std::uint64_t newest_transaction() const;
  void read_at(std::uint64_t offset, void* to, std::size_t size) const;
  void check_pages(std::uint64_t first, std::uint64_t count, const Node* leaf_node) const;
  std::uint64_t overflow_page(const Node& node) const;
  void read_page(std::uint64_t number, unsigned char* to);
  void load(std::uint64_t number, std::size_t level);
  void descend(std::uint64_t number, std::size_t level);
  bool next_leaf();
  void index_leaves();
  void check_unchanged() const;
  void check_now_and_then();
  Node node(std::size_t level, int index) const;
  [[noreturn]] void damaged(const std::string& what) const;

  std::string path_;
  std::string file_;
  int descriptor_ = -1;
  std::uint64_t page_size_ = 0, file_pages_ = 0, last_page_ = 0, root_ = 0, transaction_ = 0;
  std::int64_t entries_ = 0;
  std::int64_t seen_ = 0;  ///< records stepped onto since the beginning
  std::vector<Level> levels_;
  int leaves_until_check_ = 0;
  std::uint64_t last_read_ = 0;                      ///< page
  std::uint64_t ahead_first_ = 0, ahead_count_ = 0;  ///< pages in ahead_
  std::vector<unsigned char> ahead_;
  bool started_ = false;
  std::vector<Leaf> leaves_;  ///< all of them, in order, once go_to() was called
  std::size_t leaf_ = 0;      ///< the present one among them …
  bool by_index_ = false;     ///< … if go_to() led to it; the pages above it are others then
};

/// Makes a new environment. Nothing is left under `path` unless finish() succeeds.
class LmdbWriter final : public DatabaseWriter {
 public:
  /// Fails when something already exists at `path`, or its folder cannot be written to.
  explicit LmdbWriter(const std::string& path);
  ~LmdbWriter() override;

  const std::string& path() const override { return folder_.path(); }
  void put(std::string_view key, std::string_view value) override;
  void attach(const std::string& name, std::string_view contents) override;
  void finish() override;

 private:
  struct Environment;

  void commit();

  NewFolder folder_;
  std::unique_ptr<Environment> environment_;  // gone before the folder is
  std::vector<std::pair<std::string, std::string>> pending_;
  std::size_t pending_bytes_ = 0;
};

}  // namespace crema
