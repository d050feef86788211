// Lists of picture files with labels, as ImageData and convert-imageset read them: a text of lines
// NAME LABEL, or a folder with a sub-folder of pictures for each class.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crema {

/// A million pictures take 100 MB or so: the text as it is, and where each name lies in it.
class ImageList {
 public:
  /// A text: the last `label_count` numbers of a line, separated by blanks, are its labels; the
  /// name is all before and may hold blanks. A byte order mark, CR LF and blanks at the end of a
  /// line are taken off, empty lines passed over. Fails on lines without (enough) labels and on
  /// labels that are no finite numbers, naming file and line, and when there is nothing.
  ///
  /// A folder: its sub-folders in byte order are the classes 0, 1, 2, …; the pictures (by the
  /// endings of their names) below each are listed in byte order of their paths, hidden ones left
  /// out. A class without pictures keeps its number, so that the same classes are the same numbers
  /// in train and test. Fails when there are no sub-folders or no pictures, saying what was found.
  explicit ImageList(const std::string& path, int label_count = 1);

  const std::string& path() const { return path_; }
  bool is_folder() const { return folder_; }
  /// Names of the sub-folders; of a text there are none.
  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  int label_count() const { return label_count_; }

  /// As the text has it; of a folder the path below it ("cat/a.png").
  std::string name(std::int64_t i) const;
  /// Where the picture is: `root` is put in front of names as it is, but has no effect on folders.
  std::string file(std::int64_t i, const std::string& root) const;
  /// label_count() of them.
  std::span<const float> labels(std::int64_t i) const;
  /// Label number `k` where only a whole number of 32 bits can stand; fails on others. Exact also
  /// beyond what a float holds.
  std::int32_t whole_label(std::int64_t i, int k = 0) const;
  /// For messages: `list.txt:12`; of a folder `pictures: image 12`, from 1.
  std::string where(std::int64_t i) const;

 private:
  struct Entry {
    std::size_t begin = 0;  ///< of the name in text_
    std::uint32_t name_size = 0;
    std::uint32_t line = 0;  ///< from 1
  };

  void read_text();
  void read_folder();
  void add_line(std::string_view line);
  const Entry& entry(std::int64_t i) const { return entries_[static_cast<std::size_t>(i)]; }

  std::string path_;
  int label_count_;
  bool folder_ = false;
  std::vector<std::string> classes_;
  std::string text_;
  std::vector<Entry> entries_;
  std::vector<float> labels_;  ///< label_count_ for each entry
};

/// The bytes of a picture file of a list. Fails as read_file() does; when a file is missing whose
/// name ends in a number, the error says that label_count tells how many labels a line has.
std::string read_listed_file(const std::string& path);

}  // namespace crema
