// Lists of picture files with labels: one `NAME LABEL` a line, as ImageData and convert-imageset
// read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crema {

class ImageList {
 public:
  /// A line: the label is what stands behind the last blank, a whole number; the name is all before
  /// and may hold blanks. CR LF and blanks at the end are taken off, empty lines passed over. Fails
  /// on lines without label, naming file and line, and when there is nothing.
  explicit ImageList(const std::string& path);

  struct Entry {
    std::string name;
    int label = 0;
    std::int64_t line = 0;  ///< from 1
  };

  const std::string& path() const { return path_; }
  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  const Entry& operator[](std::int64_t i) const { return entries_[static_cast<std::size_t>(i)]; }
  /// `list.txt:12`.
  std::string where(std::int64_t i) const;

 private:
  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace crema
