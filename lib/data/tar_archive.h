// Files in a tar archive, read where they lie: nothing is unpacked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crema {

/// The plain files of an archive (ustar, with the long names of GNU tar and pax), and of the
/// archives in it: of an inner NAME.tar they are called NAME/FILE, so that ImageNet's archive of
/// one archive a class reads like its folder of one folder a class.
///
/// All headers are read at once, some 100 bytes of memory for each file. Fails when it is no
/// archive, compressed, damaged (every header has a checksum) or cut short (the mark at the end is
/// missing).
class TarArchive {
 public:
  explicit TarArchive(const std::string& path);
  ~TarArchive();
  TarArchive(const TarArchive&) = delete;
  TarArchive& operator=(const TarArchive&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t files() const { return static_cast<std::int64_t>(members_.size()); }
  /// The contents of a file; any number of threads may ask at once. Fails when there is none.
  std::string read(const std::string& name) const;

 private:
  struct Member {
    std::size_t name_at;  ///< in names_
    std::size_t name_size;
    std::uint64_t offset, size;
  };

  void scan(const std::string& what, std::uint64_t begin, std::uint64_t end,
            const std::string& prefix, int depth);
  void read_at(std::uint64_t offset, char* to, std::size_t size) const;
  std::string read_part(std::uint64_t offset, std::uint64_t size) const;
  std::string_view name_of(const Member& member) const;

  std::string path_;
  int descriptor_ = -1;
  std::string names_;
  std::vector<Member> members_;  ///< by name
};

}  // namespace crema
