// A walk over the pages of an LMDB's data.mdb, without liblmdb (data/lmdb.h says why). The way from
// the root to the present leaf is kept as copies of pages; every offset and size in them is checked
// before it is used.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/lmdb.h"
#include "data/new_folder.h"
#include "data/record_name.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

// The file's layout. A page begins with its number (8 bytes), 2 unused bytes, flags (2), and then
// either the two ends of its free space (2 + 2) or, in an overflow page, the number of pages (4). A
// branch or leaf page goes on with the offsets (2 each) of its nodes. A node: two 16-bit halves of
// the data's size (leaf) or of the child's page number (branch), flags (the child's upper bits),
// the key's size, the key, the data or the number of the overflow page that holds it.
constexpr std::size_t kPageHeader = 16, kNodeHeader = 8;
constexpr unsigned kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04, kMetaPage = 0x08,
                   kPackedLeaf = 0x20, kSubPage = 0x40;
constexpr unsigned kPageKind =
    kBranchPage | kLeafPage | kOverflowPage | kMetaPage | kPackedLeaf | kSubPage;
constexpr unsigned kBigData = 0x01, kSubData = 0x02, kDuplicates = 0x04;
constexpr unsigned kDuplicateSort = 0x04;  // of a data base

// A meta page, after its header: magic (4), version (4), address (8), map size (8), then the
// records of the free list and of the main data base (48 each), the last page (8), the transaction
// (8).
constexpr std::uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;
constexpr std::size_t kMetaBytes = 136, kMetaPageSize = 24, kMetaMain = 72, kMetaLastPage = 120,
                      kMetaTransaction = 128;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kMaxDepth = 32;

template <class T>
T get(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// What helps with a relative path: where it was looked for.
std::string as_tried(const std::string& path) {
  if (fs::path(path).is_absolute()) return path;
  boost::system::error_code ignored;
  return fmt::format("{} (in {})", path, fs::current_path(ignored).string());
}

bool is_leveldb(const fs::path& folder) {
  boost::system::error_code error;
  if (!fs::exists(folder / "CURRENT", error)) return false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().rfind("MANIFEST-", 0) == 0) return true;
  }
  return false;
}

/// The data file of the environment at `path`, or an error that says what is there instead.
std::string data_file(const std::string& path) {
  require(!path.empty(), "the path of the LMDB is empty");
  require_complete(path);
  boost::system::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_not_found) {
    if (fs::is_symlink(fs::symlink_status(path, error))) {
      fail("LMDB {} is a symbolic link to {}, which does not exist", as_tried(path),
           fs::read_symlink(path, error).string());
    }
    const bool lost_slash = path.front() != '/' && fs::exists("/" + path, error);
    fail("LMDB {} does not exist{}", as_tried(path),
         lost_slash ? fmt::format("; did you mean \"/{}\"?", path) : "");
  }
  require(status.type() != fs::status_error, "cannot open LMDB {}: {}", as_tried(path),
          error.message());
  if (status.type() != fs::directory_file) return path;
  const fs::path file = fs::path(path) / "data.mdb";
  const fs::file_status file_status = fs::status(file, error);
  require(file_status.type() != fs::status_error, "cannot open LMDB {}: {}", as_tried(path),
          error.message());
  if (file_status.type() == fs::file_not_found) {
    require(!fs::is_symlink(fs::symlink_status(file, error)),
            "LMDB {}: its data.mdb is a symbolic link to {}, which does not exist", as_tried(path),
            fs::read_symlink(file, error).string());
    require(!is_leveldb(path), "{} is a LevelDB, not an LMDB", as_tried(path));
    fail("{} is not an LMDB: it holds no data.mdb", as_tried(path));
  }
  return file.string();
}

/// What a meta page says.
struct Meta {
  std::uint64_t page_size, last_page, transaction, root, entries;
  unsigned depth, flags;
};

}  // namespace

LmdbReader::LmdbReader(const std::string& path) : path_(path), file_(data_file(path)) {
  try {
    open();
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

LmdbReader::~LmdbReader() { ::close(descriptor_); }

void LmdbReader::open() {
  // Not to wait when somebody gives a named pipe; it has no effect on files.
  descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(descriptor_ >= 0, "cannot open LMDB {}: {}: {}", as_tried(path_), file_,
          std::strerror(errno));
  read_meta();
  require(entries_ > 0, "LMDB {} is empty: it holds no records", as_tried(path_));
  // A file may lack pages at its end that are not in use. If one is, say so now and not hours
  // later.
  if (last_page_ >= file_pages_) {
    while (next()) overflow_page(node(levels_.size() - 1, levels_.back().index));
  }
}

void LmdbReader::read_meta() {
  struct stat status {};
  require_system(::fstat(descriptor_, &status) == 0, "cannot read {}", file_);
  require(S_ISREG(status.st_mode), "{} is not an LMDB: it is not a regular file", as_tried(file_));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  require(size >= kPageHeader + kMetaBytes, "{} is not an LMDB: it has only {} bytes",
          as_tried(file_), size);

  const auto meta_at = [&](std::uint64_t offset) -> std::optional<Meta> {
    unsigned char bytes[kPageHeader + kMetaBytes];
    read_at(offset, bytes, sizeof bytes);
    const unsigned char* meta = bytes + kPageHeader;
    if (!(get<std::uint16_t>(bytes + 10) & kMetaPage) || get<std::uint32_t>(meta) != kMagic) {
      return std::nullopt;
    }
    require(get<std::uint32_t>(meta + 4) == kVersion,
            "{} has LMDB data format {}; this program reads format {} (LMDB 0.9)", as_tried(file_),
            get<std::uint32_t>(meta + 4), kVersion);
    const unsigned char* main = meta + kMetaMain;
    return Meta{get<std::uint32_t>(meta + kMetaPageSize),
                get<std::uint64_t>(meta + kMetaLastPage),
                get<std::uint64_t>(meta + kMetaTransaction),
                get<std::uint64_t>(main + 40),
                get<std::uint64_t>(main + 32),
                get<std::uint16_t>(main + 6),
                get<std::uint16_t>(main + 4)};
  };

  const std::optional<Meta> first = meta_at(0);
  require(first.has_value(), "{} is not an LMDB: it does not begin like one", as_tried(file_));
  page_size_ = first->page_size;
  require(page_size_ >= 256 && page_size_ <= 65536 && (page_size_ & (page_size_ - 1)) == 0,
          "{} is damaged: a page size of {}", as_tried(file_), page_size_);
  require(size >= 2 * page_size_, "{} is truncated: {} bytes", as_tried(file_), size);
  const std::optional<Meta> second = meta_at(page_size_);
  require(second.has_value(), "{} is damaged: its second page is no meta page", as_tried(file_));
  const Meta& meta = second->transaction > first->transaction ? *second : *first;

  transaction_ = meta.transaction;
  last_page_ = meta.last_page;
  file_pages_ = size / page_size_;
  require(!(meta.flags & kDuplicateSort),
          "{} holds several values for a key (MDB_DUPSORT), which no Caffe tool writes",
          as_tried(file_));
  require(meta.entries <= size, "{} is damaged: it speaks of {} records in {} bytes",
          as_tried(file_), meta.entries, size);
  entries_ = static_cast<std::int64_t>(meta.entries);
  root_ = meta.root;
  if (entries_ > 0) {
    require(root_ != kNoPage && meta.depth >= 1 && meta.depth <= kMaxDepth,
            "{} is damaged: a tree of depth {} with root page {}", as_tried(file_), meta.depth,
            root_);
    levels_.resize(meta.depth);
  }
}

std::uint64_t LmdbReader::newest_transaction() const {
  std::uint64_t newest = 0;
  for (const std::uint64_t offset : {std::uint64_t{0}, page_size_}) {
    unsigned char bytes[8];
    read_at(offset + kPageHeader + kMetaTransaction, bytes, sizeof bytes);
    newest = std::max(newest, get<std::uint64_t>(bytes));
  }
  return newest;
}

void LmdbReader::check_unchanged() const {
  const std::uint64_t newest = newest_transaction();
  require(
      newest <= transaction_ + 1,
      "LMDB {} was written to while it was being read (its commit {} was opened, {} is there now)",
      path_, transaction_, newest);
}

void LmdbReader::damaged(const std::string& what) const {
  check_unchanged();  // the likelier reason, if so
  fail("LMDB {} is damaged: {}", path_, what);
}

void LmdbReader::read_at(std::uint64_t offset, void* to, std::size_t size) const {
  auto* bytes = static_cast<unsigned char*>(to);
  while (size > 0) {
    const ssize_t count = ::pread(descriptor_, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, "cannot read {}: {}", file_, std::strerror(errno));
    require(count > 0, "{} ends at byte {}: it was truncated while it was being read", file_,
            offset);
    bytes += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
}

/// Fails unless pages first .. first + count - 1 can be there: the data of `leaf_node`, or, with
/// null, a part of the tree.
void LmdbReader::check_pages(std::uint64_t first, std::uint64_t count,
                             const Node* leaf_node) const {
  const bool possible = first >= 2 && first <= last_page_ && count <= last_page_ + 1 - first;
  if (possible && first < file_pages_ && count <= file_pages_ - first) [[likely]]
    return;
  const std::string what = leaf_node ? fmt::format("the {} bytes of {} are", leaf_node->data_size,
                                                   record_name(leaf_node->key))
                                     : "a part of its tree is";
  if (!possible) damaged(fmt::format("{} in page {} of {}", what, first, last_page_ + 1));
  fail("LMDB {} is truncated: of its {} pages only {} are there, and {} in page {}; copy it again",
       as_tried(path_), last_page_ + 1, file_pages_, what, first);
}

/// Leaves that were written one after the other mostly lie so; once two do, the next ones are read
/// with them, since a call for each costs more than reading it.
void LmdbReader::read_page(std::uint64_t number, unsigned char* to) {
  constexpr std::uint64_t kTogether = 16;
  const bool follows = number == last_read_ + 1;
  last_read_ = number;
  if (number < ahead_first_ || number >= ahead_first_ + ahead_count_) {
    if (!follows) {
      read_at(number * page_size_, to, page_size_);
      return;
    }
    ahead_count_ = 0;
    const std::uint64_t count = std::min(kTogether, file_pages_ - number);
    ahead_.resize(count * page_size_);
    read_at(number * page_size_, ahead_.data(), ahead_.size());
    ahead_first_ = number;
    ahead_count_ = count;
  }
  std::memcpy(to, ahead_.data() + (number - ahead_first_) * page_size_, page_size_);
}

/// Reads page `number` into the stack, which has to be a leaf at the last level and a branch above.
void LmdbReader::load(std::uint64_t number, std::size_t level) {
  check_pages(number, 1, nullptr);
  Level& at = levels_[level];
  at.page.resize(page_size_);
  read_page(number, at.page.data());
  const unsigned char* page = at.page.data();
  const unsigned flags = get<std::uint16_t>(page + 10);
  const unsigned wanted = level + 1 == levels_.size() ? kLeafPage : kBranchPage;
  const std::size_t lower = get<std::uint16_t>(page + 12), upper = get<std::uint16_t>(page + 14);
  if (get<std::uint64_t>(page) != number || (flags & kPageKind) != wanted ||
      lower < kPageHeader + 2 || lower > upper || upper > page_size_) {
    damaged(fmt::format("page {} is not the {} page that it should be", number,
                        wanted == kLeafPage ? "leaf" : "branch"));
  }
  at.index = 0;
  at.count = static_cast<int>((lower - kPageHeader) / 2);
}

LmdbReader::Node LmdbReader::node(std::size_t level, int index) const {
  const Level& at = levels_[level];
  const unsigned char* page = at.page.data();
  const std::size_t offset =
      get<std::uint16_t>(page + kPageHeader + 2 * static_cast<std::size_t>(index));
  const auto broken = [&] {
    damaged(fmt::format("node {} of page {} does not lie in it", index, get<std::uint64_t>(page)));
  };
  if (offset < kPageHeader || offset + kNodeHeader > page_size_) broken();
  const unsigned char* bytes = page + offset;
  const std::uint64_t low = get<std::uint16_t>(bytes), high = get<std::uint16_t>(bytes + 2),
                      flags = get<std::uint16_t>(bytes + 4);
  const std::size_t key_size = get<std::uint16_t>(bytes + 6);
  if (offset + kNodeHeader + key_size > page_size_) broken();
  Node node{};
  node.offset = offset + kNodeHeader + key_size;
  node.key = {reinterpret_cast<const char*>(bytes + kNodeHeader), key_size};
  if (level + 1 < levels_.size()) {
    node.child = low | high << 16 | flags << 32;
  } else {
    node.flags = static_cast<unsigned>(flags);
    node.data_size = low | high << 16;
    if (node.offset + ((flags & kBigData) ? 8 : node.data_size) > page_size_) broken();
  }
  return node;
}

/// Loads page `number` at `level` and the first pages below it.
void LmdbReader::descend(std::uint64_t number, std::size_t level) {
  load(number, level);
  for (; level + 1 < levels_.size(); ++level) load(node(level, 0).child, level + 1);
  check_now_and_then();
}

void LmdbReader::check_now_and_then() {
  if (--leaves_until_check_ > 0) return;
  check_unchanged();
  leaves_until_check_ = 32;  // seldom enough to cost nothing
}

/// Steps to the next leaf page; false after the last.
bool LmdbReader::next_leaf() {
  if (by_index_) {
    if (leaf_ + 1 == leaves_.size()) return false;
    load(leaves_[++leaf_].page, levels_.size() - 1);
    return true;
  }
  std::size_t level = levels_.size() - 1;
  while (level > 0) {
    Level& parent = levels_[--level];
    if (++parent.index < parent.count) {
      descend(node(level, parent.index).child, level + 1);
      return true;
    }
  }
  return false;
}

void LmdbReader::rewind() { started_ = false; }

bool LmdbReader::next() {
  // Until the step has succeeded there is no present record.
  const bool first = !std::exchange(started_, false);
  if (first) {
    seen_ = 0;
    by_index_ = false;
    descend(root_, 0);
  } else if (++levels_.back().index >= levels_.back().count && !next_leaf()) {
    if (seen_ != entries_) {
      damaged(fmt::format("it holds {} records where its header speaks of {}", seen_, entries_));
    }
    check_unchanged();
    return false;
  }
  if (++seen_ > entries_) damaged(fmt::format("it holds more than {} records", entries_));
  started_ = true;
  return true;
}

void LmdbReader::skip(std::int64_t count) {
  while (count > 0) {
    if (started_) {
      Level& leaf = levels_.back();
      const std::int64_t here = std::min<std::int64_t>(count, leaf.count - 1 - leaf.index);
      leaf.index += static_cast<int>(here);
      seen_ += here;
      count -= here;
      if (count == 0) break;
    }
    CREMA_ASSERT(!started_ || seen_ < entries_);
    if (!next()) damaged("its pages hold fewer records than its header speaks of");
    --count;
  }
}

void LmdbReader::index_leaves() {
  rewind();
  std::int64_t seen = 0;
  for (bool more = next(); more; more = next_leaf()) {
    leaves_.push_back({get<std::uint64_t>(levels_.back().page.data()), seen});
    seen += levels_.back().count;
  }
  if (seen != entries_) {
    leaves_.clear();
    damaged(fmt::format("it holds {} records where its header speaks of {}", seen, entries_));
  }
}

void LmdbReader::go_to(std::int64_t index) {
  CREMA_ASSERT(index >= 0 && index < entries_);
  if (leaves_.empty()) index_leaves();
  const auto after =
      std::upper_bound(leaves_.begin(), leaves_.end(), index,
                       [](std::int64_t i, const Leaf& leaf) { return i < leaf.first; });
  const auto wanted = static_cast<std::size_t>(after - leaves_.begin()) - 1;
  if (!started_ || !by_index_ || leaf_ != wanted) {
    started_ = false;
    load(leaves_[wanted].page, levels_.size() - 1);
    leaf_ = wanted;
    by_index_ = true;
    check_now_and_then();
  }
  Level& leaf = levels_.back();
  leaf.index = static_cast<int>(index - leaves_[wanted].first);
  if (leaf.index >= leaf.count) damaged("its pages hold fewer records than before");
  seen_ = index + 1;
  started_ = true;
}

/// The first page of a leaf node's data that lies in pages of its own, checked; 0 for other nodes.
std::uint64_t LmdbReader::overflow_page(const Node& node) const {
  if (!(node.flags & kBigData)) return 0;
  const auto number = get<std::uint64_t>(levels_.back().page.data() + node.offset);
  const std::uint64_t pages = (kPageHeader + node.data_size + page_size_ - 1) / page_size_;
  check_pages(number, pages, &node);
  return number;
}

std::string_view LmdbReader::key() const {
  CREMA_ASSERT(started_);
  return node(levels_.size() - 1, levels_.back().index).key;
}

void LmdbReader::locate(StoredValue* value) {
  CREMA_ASSERT(started_);
  const Level& leaf = levels_.back();
  const Node at = node(levels_.size() - 1, leaf.index);
  if (at.flags & (kSubData | kDuplicates)) {
    fail("LMDB {}: {} is a data base of its own (a named one), not a record", path_,
         record_name(at.key));
  }
  if (at.flags & kBigData) {
    value->offset = overflow_page(at) * page_size_;
    value->size = at.data_size;
    return;
  }
  value->size = 0;
  value->bytes.assign(reinterpret_cast<const char*>(leaf.page.data() + at.offset), at.data_size);
}

std::string_view LmdbReader::load(std::string_view key, const StoredValue& value,
                                  std::string* buffer) const {
  if (value.size == 0) return value.bytes;
  buffer->resize(kPageHeader + value.size);
  read_at(value.offset, buffer->data(), buffer->size());
  const auto* const page = reinterpret_cast<const unsigned char*>(buffer->data());
  const std::uint64_t number = value.offset / page_size_;
  if (get<std::uint64_t>(page) != number ||
      (get<std::uint16_t>(page + 10) & kPageKind) != kOverflowPage) {
    damaged(fmt::format("page {} does not hold the data of {}", number, record_name(key)));
  }
  return std::string_view(*buffer).substr(kPageHeader);
}

}  // namespace crema
